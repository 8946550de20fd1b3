# SPDX-License-Identifier: Apache-2.0
"""An audit trail in memory, for tests of the API."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.audit.models import AuditClient, AuditFilter, AuditRecord, AuditRows, AuditSeal
from chamberlain.audit.service import AuditService
from chamberlain.auth.models import Actor, ActorType, Caller
from chamberlain.changes.models import Subject
from chamberlain.core.ids import ClientId, TraceId
from chamberlain.core.paging import Page, PageWanted, Position

ALL_STAFF = UUID("94000000-0000-4000-8000-000000000001")
WRITTEN_AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


class FakeAudit(AuditService):
    """Keeps rows in memory, newest last.

    Every method raises `refusal` once it is set. `asked` has the filters of all calls. An export pauses after
    `stops_behind` rows until `go_on` is set. `open` counts unfinished exports.
    """

    def __init__(self) -> None:
        self.records: list[AuditRecord] = []
        self.asked: list[AuditFilter] = []
        self.refusal: Exception | None = None
        self.stops_behind: int | None = None
        self.go_on = asyncio.Event()
        self.open = 0

    async def list(self, caller: Caller, wanted: AuditFilter, page: PageWanted) -> Page[AuditRecord]:
        self._ask(wanted)
        newest = self._of(caller)[::-1]
        if page.after is not None:
            newest = [each for each in newest if each.sequence < page.after.id.int]
        found = newest[: page.limit]
        more = len(newest) > page.limit
        return Page(found, Position(found[-1].at, UUID(int=found[-1].sequence)) if more else None)

    async def export(self, caller: Caller, wanted: AuditFilter) -> AuditRows:
        self._ask(wanted)
        return self._rows(caller)

    async def _rows(self, caller: Caller) -> AuditRows:
        self.open += 1
        try:
            for number, each in enumerate(self._of(caller)):
                if number == self.stops_behind:
                    await self.go_on.wait()
                yield (each,)
        finally:
            self.open -= 1

    def _of(self, caller: Caller) -> Sequence[AuditRecord]:
        return [each for each in self.records if each.tenant_id == caller.tenant_id]

    def _ask(self, wanted: AuditFilter) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.asked.append(wanted)


def audit_record(sequence: int, caller: Caller, *, is_erased: bool = False) -> AuditRecord:
    """An assignment that has its seal, or what is left of one."""
    return AuditRecord(
        sequence=sequence,
        at=WRITTEN_AT,
        tenant_id=caller.tenant_id,
        action="group.assign",
        actor=None if is_erased else Actor(ActorType.USER, caller.id, "Ada Achterberg"),
        client=None if is_erased else AuditClient(ClientId(caller.client_id), "chamberlain-cli"),
        subject=None if is_erased else Subject("group", ALL_STAFF, "All staff"),
        before=None if is_erased else b'{"templateId":null}',
        after=None if is_erased else b'{"templateId":"7e000000-0000-4000-8000-000000000021"}',
        request_id=None,
        trace_id=TraceId("4bf92f3577b34da6a3ce929d0e0e4736"),
        client_address=None if is_erased else "192.0.2.1",
        seal=AuditSeal(bytes(32), b"\xaa" * 32),
        is_erased=is_erased,
    )
