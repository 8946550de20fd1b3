"""Look up the objects of requests in the directory before provisioning."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from chamberlain.directory.port import Capabilities
from chamberlain.requests.steps import Task


class Planned(Protocol):
    """A plan of a task."""

    @property
    def task(self) -> Task:
        """Return the task."""


Plan = TypeVar("Plan", bound=Planned)
Reference = TypeVar("Reference")
Observed = TypeVar("Observed")


async def look_for(
    observe: Callable[[Sequence[Reference]], Awaitable[Sequence[Observed | None]]],
    plans: Sequence[Plan],
    reference_of: Callable[[Plan], Reference],
    capabilities: Capabilities,
) -> Sequence[Observed | None]:
    """Observe the object of each plan by its reference. Raises TryAgain.

    Skips the lookup for new requests if the directory shares the database: it cannot have objects of them.
    """
    skips = capabilities.shares_database
    begun = [reference_of(plan) for plan in plans if not (skips and plan.task.is_new)]
    shown = iter(await observe(begun) if begun else ())
    return [None if skips and plan.task.is_new else next(shown) for plan in plans]
