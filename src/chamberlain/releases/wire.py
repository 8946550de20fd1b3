# SPDX-License-Identifier: Apache-2.0
"""Releases and their previews as they are sent."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from chamberlain.changes.models import format_time
from chamberlain.core.validation import Reader
from chamberlain.http.request import ActionBody
from chamberlain.http.wire import Actor, Time
from chamberlain.releases.models import DETAILS, ReleaseRecord, ReleaseState, ReleaseType, ReleaseView
from chamberlain.releases.models import ReleasedObject as Released
from chamberlain.releases.models import ReleasePreview as Preview


class ReleaseBody(ActionBody, frozen=True, kw_only=True):
    """The types of objects to release. Without types, all are released."""

    types: Annotated[tuple[ReleaseType, ...], Meta(min_length=1, max_length=len(ReleaseType))] | None = None


RELEASE = Reader(ReleaseBody)


class ReleasedObject(Struct, rename="camel", frozen=True):
    """An object to release.

    `id` is that of the mailbox, group or site.
    """

    type: ReleaseType
    id: UUID
    display_name: str
    mail: str | None


class RemarkedObject(Struct, rename="camel", frozen=True):
    """A skipped object, or a released one with a remark."""

    type: ReleaseType
    id: UUID
    display_name: str
    mail: str | None
    code: str
    detail: str


class ReleasePreviewCounts(Struct, rename="camel", frozen=True):
    """Numbers of objects to release by type, and to skip by reason."""

    objects: dict[str, int]
    skipped: dict[str, int]


class ReleasePreview(Struct, rename="camel", frozen=True):
    """The objects that a release would give back.

    `objects` and `skipped` are the first hundred.
    """

    dry_run: bool
    types: tuple[ReleaseType, ...]
    counts: ReleasePreviewCounts
    objects: tuple[ReleasedObject, ...]
    skipped: tuple[RemarkedObject, ...]


class ReleaseCounts(Struct, rename="camel", frozen=True):
    """The numbers of objects to release, of released and of skipped ones."""

    total: int
    released: int
    skipped: int


class Release(Struct, rename="camel", frozen=True):
    """A release, and how far it has come."""

    id: UUID
    types: tuple[ReleaseType, ...]
    state: ReleaseState
    counts: ReleaseCounts
    created_at: Time
    created_by: Actor
    updated_at: Time
    finished_at: Time | None


class WholeRelease(Release, rename="camel", frozen=True):
    """A release with its first hundred skipped objects and remarks."""

    remarks: tuple[RemarkedObject, ...]


class ReleasePage(Struct, rename="camel", frozen=True):
    """Some releases, newest first; `nextCursor` is null on the last page."""

    items: tuple[Release, ...]
    next_cursor: str | None


def wanted_types(body: ReleaseBody) -> tuple[ReleaseType, ...]:
    """Return the types of a body in a fixed order, each once."""
    return tuple([each for each in ReleaseType if body.types is None or each in body.types])


def preview_of(preview: Preview) -> ReleasePreview:
    """Encode a preview."""
    return ReleasePreview(
        dry_run=True,
        types=preview.types,
        counts=ReleasePreviewCounts(
            {str(type_): number for type_, number in preview.counts.items()},
            {str(reason): number for reason, number in sorted(preview.skipped_counts.items())},
        ),
        objects=tuple([ReleasedObject(one.type, one.id, one.display_name, one.mail) for one in preview.objects]),
        skipped=tuple([each for one in preview.skipped for each in _remark(one)]),
    )


def release_of(record: ReleaseRecord) -> Release:
    """Encode a release for a list."""
    by = record.editor.actor
    return Release(
        id=record.id,
        types=record.types,
        state=record.state,
        counts=ReleaseCounts(record.total, record.released, record.skipped),
        created_at=format_time(record.created_at),
        created_by=Actor(by.type, by.id, by.display_name),
        updated_at=format_time(record.updated_at),
        finished_at=None if record.finished_at is None else format_time(record.finished_at),
    )


def whole_release_of(view: ReleaseView) -> WholeRelease:
    """Encode a release with its remarks."""
    listed = {name: getattr(release_of(view.record), name) for name in Release.__struct_fields__}
    return WholeRelease(**listed, remarks=tuple([each for one in view.remarks for each in _remark(one)]))


def _remark(one: Released) -> tuple[RemarkedObject, ...]:
    if one.reason is None:
        return ()
    return (RemarkedObject(one.type, one.id, one.display_name, one.mail, one.reason, DETAILS[one.reason]),)
