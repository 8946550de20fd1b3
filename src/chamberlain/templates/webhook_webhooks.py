"""Webhooks of templates: what becomes of the secrets that their calls are signed with, and how a new one is made.

A webhook has one secret, or two while it changes: the one before the newest goes on for a day, so that whoever receives
the calls can take up the new one in that time. There are never three: with yet another one the oldest ends at once.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto

from chamberlain.core.errors import NotFound
from chamberlain.core.ids import TemplateId, TenantId

# How long the secret before the newest one signs as well (docs/reference/webhooks.md).
OVERLAP = timedelta(hours=24)

# The template that a webhook belongs to.
WebhookKey = tuple[TenantId, TemplateId]


class SecretFate(Enum):
    """What a change of a template does to the secret of its webhook."""

    ABSENT = auto()
    KEPT = auto()
    GIVEN = auto()
    MADE = auto()
    REMOVED = auto()


@dataclass(frozen=True, slots=True)
class SettledSecret:
    """What became of a secret. `was_there` says whether there was one before, `made` is one that the service has made:
    it is shown in one answer and nowhere else."""

    fate: SecretFate
    was_there: bool
    made: str | None = field(default=None, repr=False)

    @property
    def is_new(self) -> bool:
        """Whether there is another secret now, and not none."""
        return self.fate in {SecretFate.GIVEN, SecretFate.MADE}

    @property
    def has_changed(self) -> bool:
        """Whether the secret is another one, or gone."""
        return self.is_new or self.fate is SecretFate.REMOVED


def fate_of(*, has_webhook: bool, sent: str | None, present: str | None) -> SecretFate:
    """What to do with a secret, from the one that was sent and the one that is there."""
    if not has_webhook:
        return SecretFate.ABSENT if present is None else SecretFate.REMOVED
    if sent is not None:
        return SecretFate.KEPT if sent == present else SecretFate.GIVEN
    return SecretFate.MADE if present is None else SecretFate.KEPT


@dataclass(frozen=True, slots=True)
class SigningSecrets:
    """What a call is signed with now: the newest secret first, and behind it the one before, as long as it counts.
    Empty where there is none, or none that the keys at hand open."""

    values: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class RotatedSecret:
    """A secret that has taken the place of another one, which signs as well until `previous_until`; None where there
    was none."""

    made: str = field(repr=False)
    previous_until: datetime | None


def overlap_end(now: datetime) -> datetime:
    """Until when a secret signs as well that another one has replaced now."""
    return now + OVERLAP


def no_webhook() -> NotFound:
    """What to say of a template that has none."""
    return NotFound("This template has no webhook. Give it one first, by a PUT of the template.")
