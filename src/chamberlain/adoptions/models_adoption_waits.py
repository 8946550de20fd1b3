"""How long the directory may keep an adoption waiting for one that is to be taken, or given back: nobody waits for
ever."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeAlias

from chamberlain.adoptions.models import GONE, NO_ANSWER, with_mark
from chamberlain.adoptions.models_adoption_records import AdoptionItem, RefusedItem
from chamberlain.core.errors import OutsideFault, TryAgain

# What the directory does not answer for, or does not show, for so long is refused; and so long it may keep a mark.
PATIENCE = timedelta(days=1)
# A search is often behind what was just written.
NOT_SHOWN = TryAgain(timedelta(seconds=30), "The directory does not show it under its mark yet.")

# What has to wait, and what for.
Waiting: TypeAlias = tuple[AdoptionItem, TryAgain]


def has_waited(item: AdoptionItem, *, now: datetime, times: int = 1) -> bool:
    """Whether the directory has had its time, or so many times that."""
    return item.waits_since is not None and now - item.waits_since >= times * PATIENCE


def end_of_wait(item: AdoptionItem, fault: TryAgain, *, now: datetime) -> RefusedItem | Waiting:
    """What becomes of one that the directory does not mark or show yet."""
    if has_waited(item, now=now):
        return RefusedItem(item, GONE if fault is NOT_SHOWN else NO_ANSWER)
    return item, fault


def end_of_refused(refused: RefusedItem, fault: OutsideFault | None, *, now: datetime) -> RefusedItem | Waiting:
    """What becomes of one that is refused, when this came of taking its mark away. It may have waited to be shown
    before, and waits as long again."""
    if not isinstance(fault, TryAgain):
        return refused
    if has_waited(refused.item, now=now, times=2):
        return replace(refused, obstacle=with_mark(refused.obstacle))
    return refused.item, fault
