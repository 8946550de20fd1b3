"""Takes the steps of one group or mailbox one after the other, where a directory has a call for each."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.directory.embedded.errors import passing
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.errors import Refused

Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Walked(Generic[Shown]):
    """How far it went: what the directory shows at the end (None when that was not reached), the steps that are done,
    and what stopped the next one. `taken` are those whose calls were answered well."""

    shown: Shown | None
    done: tuple[Step, ...]
    fault: OutsideFault | None
    taken: tuple[Step, ...]


async def walk(
    steps: Sequence[Step],
    left: Collection[Step],
    take: Callable[[Step], Awaitable[None]],
    find: Callable[[], Awaitable[Shown]],
) -> Walked[Shown]:
    """Take those of the steps that are left, as far as they go, and look for what they made."""
    done: list[Step] = []
    try:
        with passing():
            for step in steps:
                if step in left:
                    await take(step)
                done.append(step)
            return Walked(await find(), tuple(steps), None, tuple(steps))
    except TryAgain as fault:
        # The last step is through when everybody can see what was made.
        return Walked(None, tuple(done[: len(steps) - 1]), fault, tuple(done))
    except Refused as refused:
        return Walked(None, tuple(done), Rejected(refused.code, refused.detail), tuple(done))
