"""Groups of items. Where `items` are asked for, ids of groups stand for all their members."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import UploadFile
from pydantic import BaseModel, Field

from headgate.catalogue.groups import covers, editing
from headgate.catalogue.groups.details import GroupDetails, show_group
from headgate.catalogue.groups.editing import Dissolved, Grouped, Ungrouped
from headgate.catalogue.groups.locking import MAX_MEMBERS
from headgate.domain.library.group_names import MAX_GROUP_NAME
from headgate.ingest.inspecting.group_covers import MAX_COVER_BYTES, check_size
from headgate.web.api.labels.labels import LabelsWish
from headgate.web.door import Routes, scope
from headgate.web.parts import CurrentSite
from headgate.web.typed import AROUND_A_FILE_BYTES

routes = Routes("/api/v1", in_schema=True)

Things = Annotated[list[UUID], Field(min_length=1, max_length=MAX_MEMBERS)]
Name = Annotated[str, Field(max_length=10 * MAX_GROUP_NAME, description="1 to 200 characters.")]


class GroupWish(BaseModel):
    """A group to make of two or more items; they leave the groups that they are in."""

    name: Name
    items: Things


class NameWish(BaseModel):
    """The new name of a group."""

    name: Name


class NameAnswer(BaseModel):
    """The name as it is stored."""

    name: str


class ThingsWish(BaseModel):
    """Items and groups, by their ids; all of them change, or none does."""

    items: Things


class MembersWish(BaseModel):
    """Items of the group."""

    items: Things


class MergeWish(BaseModel):
    """Groups whose members move; they dissolve."""

    groups: Things


class CoverWish(BaseModel):
    """A member of the group."""

    item: UUID


class GroupLabelsWish(LabelsWish):
    """The creator and tags to set for items and for all members of groups."""

    items: Things


class LabelledAnswer(BaseModel):
    """How many items have the labels now."""

    items: int


@routes.post("/groups", door=scope("write"), status_code=201, tags=["groups"])
async def create(site: CurrentSite, wish: GroupWish) -> Grouped:
    """Make a group of items, also of several topics and channels."""
    async with site.transaction() as tx:
        return await editing.create_group(
            tx, wish.items, name=wish.name, ids=site.parts.ids, now=site.parts.clock.now()
        )


@routes.post("/groups/labels", door=scope("write"), tags=["groups"])
async def label_many(site: CurrentSite, wish: GroupLabelsWish) -> LabelledAnswer:
    """Set the creator and tags of items and groups together."""
    async with site.transaction() as tx:
        labelled = await editing.label_things(tx, wish.items, wish.change, now=site.parts.clock.now())
    return LabelledAnswer(items=labelled)


@routes.get("/groups/{group_id}", door=scope("read"), tags=["groups"])
async def show(site: CurrentSite, group_id: UUID) -> GroupDetails:
    """Show a group: why it exists, its members, and what they have in common."""
    async with site.transaction() as tx:
        return await show_group(tx, group_id)


@routes.patch("/groups/{group_id}", door=scope("write"), tags=["groups"])
async def rename(site: CurrentSite, group_id: UUID, wish: NameWish) -> NameAnswer:
    """Rename a group; the name of an album no longer follows its caption."""
    async with site.transaction() as tx:
        return NameAnswer(name=await editing.rename_group(tx, group_id, wish.name))


@routes.post("/groups/{group_id}/members", door=scope("write"), tags=["groups"])
async def add(site: CurrentSite, group_id: UUID, wish: ThingsWish) -> Grouped:
    """Add items to a group; they leave the groups that they are in."""
    async with site.transaction() as tx:
        return await editing.add_to_group(tx, group_id, wish.items, now=site.parts.clock.now())


@routes.post("/groups/{group_id}/members/remove", door=scope("write"), tags=["groups"])
async def remove(site: CurrentSite, group_id: UUID, wish: MembersWish) -> Ungrouped:
    """Take items out of a group, for good; a group without members dissolves."""
    async with site.transaction() as tx:
        return await editing.remove_from_group(tx, group_id, wish.items, now=site.parts.clock.now())


@routes.post("/groups/{group_id}/merge", door=scope("write"), tags=["groups"])
async def merge(site: CurrentSite, group_id: UUID, wish: MergeWish) -> Grouped:
    """Move the members of other groups into this one, which keeps its name and cover."""
    async with site.transaction() as tx:
        return await editing.merge_groups(tx, group_id, wish.groups, now=site.parts.clock.now())


@routes.post("/groups/{group_id}/dissolve", door=scope("write"), tags=["groups"])
async def dissolve(site: CurrentSite, group_id: UUID) -> Dissolved:
    """Dissolve a group; its items stay, each on its own."""
    async with site.transaction() as tx:
        return await editing.dissolve_group(tx, group_id, now=site.parts.clock.now())


@routes.post("/groups/{group_id}/restore", door=scope("write"), tags=["groups"])
async def restore(site: CurrentSite, group_id: UUID) -> Grouped:
    """Undo dissolving a group; items that were put into another group since stay there."""
    async with site.transaction() as tx:
        return await editing.restore_group(tx, group_id, now=site.parts.clock.now())


@routes.patch("/groups/{group_id}/labels", door=scope("write"), tags=["groups"])
async def label(site: CurrentSite, group_id: UUID, wish: LabelsWish) -> LabelledAnswer:
    """Set the creator and tags of all members of a group."""
    async with site.transaction() as tx:
        labelled = await editing.label_things(tx, [group_id], wish.change, now=site.parts.clock.now())
    return LabelledAnswer(items=labelled)


@routes.post("/groups/{group_id}/cover/pick", door=scope("write"), status_code=204, tags=["groups"])
async def pick_cover(site: CurrentSite, group_id: UUID, wish: CoverWish) -> None:
    """Use the picture of a member as the cover."""
    async with site.transaction() as tx:
        await covers.pick_cover(tx, group_id, wish.item)


@routes.post(
    "/groups/{group_id}/cover",
    door=scope("write"),
    status_code=204,
    tags=["groups"],
    largest_body_bytes=MAX_COVER_BYTES + AROUND_A_FILE_BYTES,
)
async def upload_cover(site: CurrentSite, group_id: UUID, file: UploadFile) -> None:
    """Use an uploaded picture as the cover, sent as the form field `file`."""
    check_size(file.size)
    await site.parts.reader.covers.upload(site.transaction, group_id, await file.read(), ids=site.parts.ids)


@routes.delete("/groups/{group_id}/cover", door=scope("write"), status_code=204, tags=["groups"])
async def reset_cover(site: CurrentSite, group_id: UUID) -> None:
    """Let the cover be the first picture among the members again."""
    async with site.transaction() as tx:
        await covers.reset_cover(tx, group_id)
