"""The outage that a pool sees at present: reported to the log when it begins, while it lasts, and when it ends.

Every call fails while the database cannot be used. A line for each would hide the cause in a flood of lines.
"""

import logging
import time
from collections.abc import Callable, Mapping
from math import inf

from chamberlain.core.outages import Outage

# Seconds between two lines of the same cause. Ours: seldom enough to read, often enough to see that it lasts.
_REPEATED_AFTER = 60.0
# Seconds without a failure after which an outage has ended. Other calls may succeed all the while: reads with a full
# disk, and every second call where connections are scarce. Ours: a few times the interval of a health check.
_QUIET_FOR = 10.0

logger = logging.getLogger(__name__)


# Takes a sentence and the named values of its log line.
Report = Callable[[str, Mapping[str, object]], None]


def log_outage(sentence: str, values: Mapping[str, object]) -> None:
    """Report to the log, as processes do. A command has one answer, and reports the cause in that."""
    logger.warning(sentence, extra=values)


class OutageRecord:
    """The outage of one pool. `name` is that of the pool; `refine` may know a better cause than the driver."""

    def __init__(
        self,
        name: str,
        *,
        report: Report = lambda _, __: None,
        refine: Callable[[Outage], Outage] = lambda outage: outage,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.current: Outage | None = None
        self.refine = refine
        self._name = name
        self._report = report
        self._clock = clock
        self._began_at = self._failed_at = 0.0
        self._logged_at: dict[Outage, float] = {}
        self._failures = 0

    def failed(self, outage: Outage) -> Outage:
        """Note a failure and answer its refined cause."""
        outage, now = self.refine(outage), self._clock()
        if self.current is None:
            self._began_at, self._failures = now, 0
            self._logged_at.clear()
        self._failures += 1
        self._failed_at = now
        # Calls that fail in turn may have different causes.
        if now - self._logged_at.get(outage, -inf) >= _REPEATED_AFTER:
            self._logged_at[outage] = now
            self._report(f"The database cannot be used. {outage.seen} {outage.cure}", self._facts(outage))
        self.current = outage
        return outage

    def worked(self) -> None:
        """Note a success. It ends the outage when nothing has failed for a while."""
        if self.current is None or self._clock() - self._failed_at < _QUIET_FOR:
            return
        seconds = round(self._failed_at - self._began_at, 1)
        self._report("The database can be used again.", {**self._facts(self.current), "outageSeconds": seconds})
        self.current = None

    def _facts(self, outage: Outage) -> dict[str, object]:
        return {"reasonCode": outage.value, "pool": self._name, "failures": self._failures}
