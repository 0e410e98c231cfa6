"""Creators and tags of items, and the names in use."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from headgate.catalogue import labels
from headgate.catalogue.labels import MAX_CHANGED_TAGS, MAX_ITEMS, LabelChange
from headgate.domain.library.item_labels import ItemLabels
from headgate.domain.library.label_rules import MAX_LABEL_LENGTH, LabelKind
from headgate.domain.text import typed_text
from headgate.storage.labels.labels import UsedName
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite

routes = Routes("/api/v1", in_schema=True)

Tags = Annotated[list[str], Field(max_length=MAX_CHANGED_TAGS)]


class LabelsWish(BaseModel):
    """The creator and tags to set; omitted fields stay. A person's choice wins over the rules."""

    creator: str | None = Field(
        default=None, max_length=10 * MAX_LABEL_LENGTH, description="Empty: the item has no creator."
    )
    reset_creator: bool = Field(default=False, description="Use the creator that the rules find.")
    add: Tags = Field(default=[], description="Tags to add.")
    remove: Tags = Field(default=[], description="Tags to remove; rules do not add them again.")
    reset: Tags = Field(default=[], description="Tags to leave to the rules.")

    @property
    def change(self) -> LabelChange:
        return LabelChange(
            self.creator, self.reset_creator, tuple(self.add), tuple(self.remove), tuple(self.reset)
        )


class ManyLabelsWish(LabelsWish):
    """The same for several items at once: all of them change, or none does."""

    items: list[UUID] = Field(min_length=1, max_length=MAX_ITEMS)


class NamesAnswer(BaseModel):
    """A page of creators or tags by name; pass `next` as `after` to get the next page."""

    names: list[UsedName]
    next: str | None


class RenameWish(BaseModel):
    """A creator or tag, and its new name; if that is in use, the two are merged."""

    kind: LabelKind
    name: str
    to: str


class RestoreWish(BaseModel):
    """A creator or tag that was renamed."""

    kind: LabelKind
    name: str


class RenamedAnswer(BaseModel):
    """The name as it is shown from now on."""

    name: str


@routes.patch("/items/{item_id}/labels", door=scope("write"), tags=["library"])
async def change(site: CurrentSite, item_id: UUID, body: LabelsWish) -> ItemLabels:
    """Set the creator and tags of an item."""
    async with site.transaction() as tx:
        changed = await labels.change_labels(tx, [item_id], body.change, now=site.parts.clock.now())
    return next(iter(changed.values()))


@routes.post("/items/labels", door=scope("write"), tags=["library"])
async def change_many(site: CurrentSite, body: ManyLabelsWish) -> dict[str, ItemLabels]:
    """Set the creator and tags of several items; returns them by the items' ids."""
    async with site.transaction() as tx:
        changed = await labels.change_labels(tx, body.items, body.change, now=site.parts.clock.now())
    return {str(item_id): shown for item_id, shown in changed.items()}


@routes.get("/labels", door=scope("read"), tags=["library"])
async def list_names(
    site: CurrentSite,
    kind: LabelKind,
    q: str = "",
    after: str = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> NamesAnswer:
    """List creators or tags in use by name, with how many items have each."""
    async with site.transaction() as tx:
        page = await labels.list_names(
            tx, kind, search=typed_text(q), after=typed_text(after, max_length=500), limit=limit
        )
    return NamesAnswer(names=page.names, next=page.next)


@routes.post("/labels/rename", door=scope("admin"), tags=["library"])
async def rename(site: CurrentSite, body: RenameWish) -> RenamedAnswer:
    """Rename a creator or tag everywhere, or merge it into another."""
    async with site.transaction() as tx:
        return RenamedAnswer(name=await labels.rename(tx, body.kind, body.name, to=body.to))


@routes.post("/labels/restore", door=scope("admin"), status_code=204, tags=["library"])
async def restore(site: CurrentSite, body: RestoreWish) -> None:
    """Undo the renaming of a creator or tag."""
    async with site.transaction() as tx:
        await labels.restore_name(tx, body.kind, body.name)
