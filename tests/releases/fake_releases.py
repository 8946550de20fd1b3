# SPDX-License-Identifier: Apache-2.0
"""Releases in memory, for tests of the API."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import Actor, Caller, Editor
from chamberlain.core.errors import NotFound
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import ReleaseId, TenantId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.releases.models import (
    ReleasedObject,
    ReleasePreview,
    ReleaseReason,
    ReleaseRecord,
    ReleaseState,
    ReleaseType,
    ReleaseView,
    release_running,
)
from chamberlain.releases.service import ReleaseService

TENANT_ID = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
RELEASE = ReleaseId(UUID("4e1ea5e0-0000-4000-8000-000000000001"))
AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
ROOM = ReleasedObject(ReleaseType.MAILBOX, UUID(int=1), "Room Bern", "bern@rooms.estate.example")
OPEN = ReleasedObject(ReleaseType.GROUP, UUID(int=2), "Vineyard", None, ReleaseReason.REQUEST_OPEN)


class FakeReleases(ReleaseService):
    """A fake service of releases in memory, with one mailbox and one group whose request is open."""

    def __init__(self) -> None:
        self.records: list[ReleaseRecord] = []
        self.acts: list[Act] = []

    async def preview(self, caller: Caller, types: Sequence[ReleaseType]) -> ReleasePreview:
        assert caller.tenant_id == TENANT_ID
        return ReleasePreview(tuple(types), dict.fromkeys(types, 1), {ReleaseReason.REQUEST_OPEN: 1}, (ROOM,), (OPEN,))

    async def start(
        self, caller: Caller, types: Sequence[ReleaseType], act: Act, render: Callable[[ReleaseView], bytes]
    ) -> KeptAnswer:
        if self.records:
            raise release_running()
        actor = Actor(caller.type, caller.id, "Ada Achterberg")
        editor = Editor(actor, caller.client_id, act.trace_id, act.client_address)
        state = ReleaseState.RUNNING
        record = ReleaseRecord(RELEASE, caller.tenant_id, tuple(types), state, 1, 0, 1, editor, AT, AT, None)
        self.records.append(record)
        self.acts.append(act)
        return KeptAnswer(render(ReleaseView(record, (OPEN,))))

    async def list(self, caller: Caller, page: PageWanted) -> Page[ReleaseRecord]:
        assert caller.tenant_id == TENANT_ID
        return Page(self.records[: page.limit], None)

    async def read(self, caller: Caller, release_id: ReleaseId) -> ReleaseView:
        assert caller.tenant_id == TENANT_ID
        if [each.id for each in self.records] != [release_id]:
            raise NotFound("The release does not exist.")
        return ReleaseView(self.records[0], (OPEN,))
