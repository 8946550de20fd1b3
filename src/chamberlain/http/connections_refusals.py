"""Connections that are closed against the wish of the client: counted, and logged at a limited rate."""

import logging
from collections import Counter
from enum import StrEnum

from chamberlain.observability import metrics

# One line per kind and minute: an attack must not fill the disk, and a pager needs no more.
SECONDS_BETWEEN_LINES = 60.0

logger = logging.getLogger(__name__)


class Refused(StrEnum):
    """Reasons to close a connection. They are values of a metric's label."""

    ANSWER_NOT_READ = "answerNotRead"
    TOO_MANY_CONNECTIONS = "tooManyConnections"
    TOO_MANY_OF_ADDRESS = "tooManyOfAddress"
    HANDSHAKE_TOO_SLOW = "handshakeTooSlow"
    HEAD_TOO_SLOW = "headTooSlow"
    HEAD_TOO_LARGE = "headTooLarge"
    NOT_HTTP = "notHttp"


_SENTENCES = {
    Refused.ANSWER_NOT_READ: "Connections were closed whose clients did not read the answer.",
    Refused.TOO_MANY_CONNECTIONS: "Connections were closed to make room for new ones: the process is at its cap.",
    Refused.TOO_MANY_OF_ADDRESS: "Connections were refused: their address is at its cap.",
    Refused.HANDSHAKE_TOO_SLOW: "Connections were closed that did not complete the TLS handshake in time.",
    Refused.HEAD_TOO_SLOW: "Connections were closed that did not send the head of a call in time.",
    Refused.HEAD_TOO_LARGE: "Connections were closed whose call had a head above the limit.",
    Refused.NOT_HTTP: "Connections were closed that did not speak HTTP.",
}


class Refusals:
    """The refusals of one process. Times are seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._unlogged: Counter[Refused] = Counter()
        self._last_address: dict[Refused, str] = {}
        self._logged_at: dict[Refused, float] = {}

    def add(self, kind: Refused, address: str, now: float) -> None:
        """Count one; the first of a kind is logged at once."""
        metrics.connection_refused(kind)
        self._unlogged[kind] += 1
        self._last_address[kind] = address
        self._log_if_due(kind, now)

    def log_due(self, now: float) -> None:
        """Log those that were only counted, once their kind is due again."""
        for kind in tuple(self._unlogged):
            self._log_if_due(kind, now)

    def _log_if_due(self, kind: Refused, now: float) -> None:
        if now - self._logged_at.get(kind, float("-inf")) >= SECONDS_BETWEEN_LINES:
            self._logged_at[kind] = now
            count, address = self._unlogged.pop(kind), self._last_address[kind]
            logger.warning(_SENTENCES[kind], extra={"kind": str(kind), "count": count, "address": address})
