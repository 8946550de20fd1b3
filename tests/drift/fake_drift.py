"""Checks for drift in memory, for tests of the API."""

from collections.abc import Callable
from datetime import UTC, datetime

from chamberlain.auth.models import Caller
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.drift.models import DriftCheck
from chamberlain.drift.service import DriftService

AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


class FakeDrift(DriftService):
    """Records who starts a check. Every method raises `refusal` once it is set."""

    def __init__(self) -> None:
        self.acts: list[tuple[Caller, Act]] = []
        self.refusal: Exception | None = None
        self.replayed = False

    async def check(self, caller: Caller, act: Act, render: Callable[[DriftCheck], bytes]) -> KeptAnswer:
        if self.refusal is not None:
            raise self.refusal
        self.acts.append((caller, act))
        return KeptAnswer(render(DriftCheck(asked_at=AT)), self.replayed)
