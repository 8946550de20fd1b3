"""Webhooks of templates: what becomes of the secret that their calls are signed with."""

from dataclasses import dataclass, field
from enum import Enum, auto


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
