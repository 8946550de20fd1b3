"""What the handlers may ask for. Bootstrap fills it in; tests fill it in with something small and real."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chamberlain.api.administration import (
    Audit,
    Jobs,
    OwnTenant,
)
from chamberlain.rules.callers import Caller
from chamberlain.rules.event_records import EventRecord
from chamberlain.rules.pages import (
    FeedPage,
    FeedWanted,
)

ListEvents = Callable[[Caller, FeedWanted], Awaitable[FeedPage[EventRecord]]]


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases of nouns that have no service class yet."""

    jobs: Jobs
    audit: Audit
    tenant: OwnTenant
    list_events: ListEvents
