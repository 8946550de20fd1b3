"""Stored texts with characters that no call and no file may bring in today."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from chamberlain.core.checkups import Checkup, faulty, well
from chamberlain.core.ids import TenantId


@dataclass(frozen=True, slots=True)
class BadText:
    """A template or policy with such a text."""

    noun: str
    tenant_id: TenantId
    id: UUID


def judge_texts(found: Sequence[BadText]) -> Sequence[Checkup]:
    """Name each row that an administrator has to write again."""
    if not found:
        return [well("texts", "No template or policy holds a control character.")]
    return [faulty("texts", _seen(each), _CURE) for each in found]


_CURE = (
    "It is shown with U+FFFD in place of each such character. Correct it in the configuration file and run "
    "`chamberlain apply`, or PUT it again."
)


def _seen(bad: BadText) -> str:
    return f"The {bad.noun} {bad.id} of tenant {bad.tenant_id} holds a control character of an earlier version."
