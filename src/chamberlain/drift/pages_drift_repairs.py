"""Whether a difference is put right: what the tenant says, what somebody has accepted, and whether repairs hold.

A repair that does not hold is tried once more. After that it is reported, and left alone until somebody releases it by
accepting the report, or until something else is wanted.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from chamberlain.directory.properties import Treatment
from chamberlain.drift.compare import Difference

# So many repairs of one thing are tried that do not hold.
MOST_REPAIRS = 2
# What a directory shows so soon after a repair says nothing of it: it may be late, and two checks may come in a minute.
SHOWN_AFTER = timedelta(hours=1)
# A repair that has held for so long has held: what differs then is a new matter.
HOLDS_AFTER = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class RepairRecord:
    """What is known of the repairs of one property: how many there were of what is wanted now, named by its digest,
    when it differed last, and whether we have given up. `is_under_way`: one was announced, and nobody has seen yet that
    the directory shows it; `repairs` counts it once it is made, and is 0 before the first."""

    repairs: int
    digest: str
    found_at: datetime
    has_given_up: bool = False
    is_under_way: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """What is on record of a property. `is_accepted`: somebody lets it differ. `is_released`: somebody has accepted
    that repairs did not hold, so that they are tried again."""

    record: RepairRecord | None = None
    is_accepted: bool = False
    is_released: bool = False


class Verdict(Enum):
    """What is done about a difference: it is put right, it is reported, or it is reported that repairs do not hold."""

    REPAIR = "repair"
    REPORT = "report"
    GIVE_UP = "giveUp"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is done about a difference, and what is on record of it afterwards: of a repair, once it is made."""

    verdict: Verdict
    record: RepairRecord | None

    @property
    def is_repaired(self) -> bool:
        """Whether it is put right, or was so just now."""
        match self.verdict:
            case Verdict.REPAIR:
                return True
            case Verdict.REPORT:
                return self.record is not None
            case Verdict.GIVE_UP:
                return False


NOTHING_KNOWN = Standing()


def judge(
    difference: Difference, treatment: Treatment, standing: Standing, *, repairs: bool, now: datetime
) -> Judgement:
    """What is done about a difference. `repairs` says whether the tenant has anything repaired."""
    if treatment is not Treatment.MANAGED or not repairs or not difference.steps or standing.is_accepted:
        return Judgement(Verdict.REPORT, None)
    record = known_of(difference.digest, standing, now=now)
    if record is None:
        return Judgement(Verdict.REPAIR, RepairRecord(1, difference.digest, now))
    if now - record.found_at < SHOWN_AFTER and not record.has_given_up:
        return Judgement(Verdict.REPORT, record)
    if record.repairs >= MOST_REPAIRS:
        return Judgement(Verdict.GIVE_UP, replace(record, found_at=now, has_given_up=True, is_under_way=False))
    made = replace(record, repairs=record.repairs + 1, found_at=now, is_under_way=False)
    return Judgement(Verdict.REPAIR, made)


def announced(difference: Difference, standing: Standing, *, now: datetime) -> Standing:
    """What is on record of a property that is about to be put right. Until that is made it does not count."""
    record = standing.record or RepairRecord(0, difference.digest, now)
    return replace(standing, record=replace(record, is_under_way=True))


def not_made(standing: Standing) -> RepairRecord | None:
    """What stays on record when a repair that was announced is not made."""
    record = standing.record
    return None if record is None or not record.repairs else replace(record, is_under_way=False)


def known_of(digest: str, standing: Standing, *, now: datetime) -> RepairRecord | None:
    """What of the earlier repairs still counts: none that somebody has released, or of what is not wanted any more, or
    that have held."""
    record = standing.record
    if record is None or standing.is_released or record.digest != digest or has_held(record, now=now):
        return None
    return record if record.repairs else None


def has_held(record: RepairRecord, *, now: datetime) -> bool:
    """Whether it is so long since it differed that the repair has held."""
    return now - record.found_at >= HOLDS_AFTER


def remembered(standing: Standing, *, now: datetime) -> RepairRecord | None:
    """What stays on record of a property that does not differ at present."""
    record = not_made(standing)
    return None if record is None or standing.is_released or has_held(record, now=now) else record
