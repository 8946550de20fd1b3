"""Looks for what is there already of what requests ask for."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from chamberlain.directory.port import Capabilities
from chamberlain.requests.steps import Task


class Planned(Protocol):
    """Whatever is done for a task."""

    @property
    def task(self) -> Task:
        """What a request asks for."""


Plan = TypeVar("Plan", bound=Planned)
Reference = TypeVar("Reference")
Observed = TypeVar("Observed")


async def look_for(
    observe: Callable[[Sequence[Reference]], Awaitable[Sequence[Observed | None]]],
    plans: Sequence[Plan],
    reference_of: Callable[[Plan], Reference],
    capabilities: Capabilities,
) -> Sequence[Observed | None]:
    """What the directory shows of each plan, by its reference. Raises TryAgain.

    There is nothing yet of what nobody has begun with, where the directory forgets what we forget."""
    skips = capabilities.shares_database
    begun = [reference_of(plan) for plan in plans if not (skips and plan.task.is_new)]
    shown = iter(await observe(begun) if begun else ())
    return [None if skips and plan.task.is_new else next(shown) for plan in plans]
