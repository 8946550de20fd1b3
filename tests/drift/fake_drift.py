# SPDX-License-Identifier: Apache-2.0
"""Checks for drift in memory, for tests of the API."""

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import Actor, Caller
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import RequestId
from chamberlain.directory.steps import Step
from chamberlain.drift.models import DriftCheck
from chamberlain.drift.service import DriftService
from chamberlain.requests.models import RequestKind, RequestRecord, RequestState, begin_steps
from chamberlain.requests.rules import RequestView, viewed

REPAIR = UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10")
AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def repair_request(caller: Caller) -> RequestRecord:
    """A queued request that repairs."""
    return RequestRecord(
        request_id=RequestId(REPAIR),
        tenant_id=caller.tenant_id,
        approval_required=False,
        kind=RequestKind.REPAIR,
        state=RequestState.QUEUED,
        display_name="The desk",
        template=None,
        body=b"{}",
        waiting=None,
        blocked=None,
        error=None,
        warnings=(),
        result=None,
        steps=begin_steps((Step.REPAIR_DRIFT,)),
        created_at=AT,
        created_by=Actor(caller.type, caller.id, "Ada Achterberg"),
        client_id=caller.client_id,
        updated_at=AT,
        finished_at=None,
    )


class FakeDrift(DriftService):
    """Records who starts a check. Every method raises `refusal` once it is set."""

    def __init__(self) -> None:
        self.acts: list[tuple[Caller, Act]] = []
        self.repaired: list[UUID] = []
        self.refusal: Exception | None = None
        self.replayed = False

    async def check(self, caller: Caller, act: Act, render: Callable[[DriftCheck], bytes]) -> KeptAnswer:
        if self.refusal is not None:
            raise self.refusal
        self.acts.append((caller, act))
        return KeptAnswer(render(DriftCheck(asked_at=AT)), self.replayed)

    async def repair(
        self, caller: Caller, finding_id: UUID, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        if self.refusal is not None:
            raise self.refusal
        self.repaired.append(finding_id)
        self.acts.append((caller, act))
        return KeptAnswer(render(viewed(repair_request(caller))), self.replayed)
