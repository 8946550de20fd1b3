"""Cancel a request that is not through: it ends, and gives its names back. What is in the directory already stays."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.requests.actions import Deeds, Done, cancel
from chamberlain.rules.actions import Act, Action, KeptAnswer, RequestView
from chamberlain.rules.callers import Caller
from chamberlain.rules.ids import EventId, RequestId
from chamberlain.rules.requests import RequestRecord
from chamberlain.store.database import Transaction


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """For those whose request it is, and for administrators."""

    deeds: Deeds
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def __call__(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the cancelled request. Raises NotFound, Forbidden, and Conflict when it is too
        late."""
        return await self.deeds.do(Action.CANCEL, caller, request_id, act, carry=self._cancel, render=render)

    async def _cancel(self, tx: Transaction, before: RequestRecord) -> Done:
        return await cancel(tx, before, event_id=EventId(self.new_id()), at=self.now())
