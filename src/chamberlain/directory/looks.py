"""Looks for what is there already of what requests ask for."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import compress
from typing import TypeVar

from chamberlain.directory.port import Capabilities
from chamberlain.rules.progress import Task

Reference = TypeVar("Reference")
Observed = TypeVar("Observed")

_Observe = Callable[[Sequence[Reference]], Awaitable[Sequence[Observed | None]]]


async def look_for(
    observe: "_Observe[Reference, Observed]",
    tasks: Sequence[Task],
    references: Sequence[Reference],
    capabilities: Capabilities,
) -> Sequence[Observed | None]:
    """What the directory shows of each task, by its reference. Raises TryAgain.

    There is nothing yet of what nobody has begun with, where the directory forgets what we forget."""
    has_been_begun = [not (task.is_new and capabilities.shares_database) for task in tasks]
    begun = list(compress(references, has_been_begun))
    shown = iter(await observe(begun) if begun else ())
    return [next(shown) if looked_for else None for looked_for in has_been_begun]
