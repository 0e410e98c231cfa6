"""From what a person types to the user that is meant."""

from __future__ import annotations

from typing import Annotated

import typer

from headgate.cli.lookup.channels import nearest
from headgate.domain.errors import UserError
from headgate.storage.access.users import UserLine, list_users
from headgate.storage.database import Tx

UserOption = Annotated[
    str, typer.Option("--user", metavar="USER", help="User; optional if there is only one.")
]


async def get_user(tx: Tx, name: str = "") -> UserLine:
    """Return the user of a name; without one the only user, or say who there is."""
    people = await list_users(tx)
    if name:
        return _named(people, name)
    if not people:
        raise UserError(
            "There are no users yet.",
            remedy="Add a user, or open the link that Headgate prints when it starts.",
            command="headgate user add NAME",
        )
    if len(people) > 1:
        names = ", ".join(one.name for one in people[:10])
        raise UserError(f"There are {len(people)} users: {names}.", remedy="Choose one with --user NAME.")
    return people[0]


async def find_user(tx: Tx, name: str = "") -> UserLine | None:
    """Return the user of a name; without one the only user, and nobody where there are others."""
    people = await list_users(tx)
    if name:
        return _named(people, name)
    return people[0] if len(people) == 1 else None


def _named(people: list[UserLine], name: str) -> UserLine:
    found = next((one for one in people if one.name.lower() == name.lower() or str(one.id) == name), None)
    if found is None:
        near = nearest(name, [one.name for one in people])
        meant = f"Did you mean {near}? " if near else ""
        raise UserError(f"There is no user {name!r}.", remedy=meant, command="headgate user list")
    return found
