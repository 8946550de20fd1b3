"""Retry a failed request: it is queued once more and goes on at the step that failed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from chamberlain.requests.actions import Deeds, Done
from chamberlain.rules.actions import Act, Action, KeptAnswer, RequestView, not_now
from chamberlain.rules.callers import Caller
from chamberlain.rules.ids import RequestId
from chamberlain.rules.jobs import job_kind_of
from chamberlain.rules.requests import RequestRecord
from chamberlain.store import jobs, requests
from chamberlain.store.database import Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """For those whose request it is, and for administrators. `workers` hear that there is something to do."""

    deeds: Deeds
    workers: Notifier
    now: Callable[[], datetime]

    async def __call__(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the queued request. Raises NotFound, Forbidden, and Conflict when it has not
        failed."""

        async def carry(tx: Transaction, before: RequestRecord) -> Done:
            after = await requests.retry(tx, before, at=self.now())
            if after is None:
                raise not_now(Action.RETRY, before.state)
            await jobs.queue(tx, job_kind_of(before.kind), request_id, act.trace_id)
            return Done(after, None)

        answer = await self.deeds.do(Action.RETRY, caller, request_id, act, carry=carry, render=render)
        self.workers.flag()
        return answer
