# SPDX-License-Identifier: Apache-2.0
"""A service that reads documents and plans nothing, for tests of the API."""

from collections.abc import Callable

from chamberlain.auth.models import Caller
from chamberlain.configuration.rules import Plan
from chamberlain.configuration.sent import SentDocument, read_sent
from chamberlain.configuration.service import TenantConfigurationService
from chamberlain.core.idempotency import Act, KeptAnswer


class FakeConfiguration(TenantConfigurationService):
    """Answers with empty plans. Every method raises `refusal` once it is set."""

    def __init__(self) -> None:
        self.refusal: Exception | None = None
        self.calls: list[tuple[object, ...]] = []

    async def plan(self, caller: Caller, document: SentDocument) -> Plan:
        self.calls.append((caller, document))
        if self.refusal is not None:
            raise self.refusal
        read_sent(document)
        return Plan(())

    async def apply(
        self, caller: Caller, document: SentDocument, digest: str, act: Act, render: Callable[[Plan], bytes]
    ) -> KeptAnswer:
        self.calls.append((digest, act))
        return KeptAnswer(render(await self.plan(caller, document)))
