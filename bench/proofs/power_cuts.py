# SPDX-License-Identifier: Apache-2.0
"""Is anything acknowledged lost or done twice when the power is cut under load?

The data directory of a service with its embedded database is on an ext4 of its own, which is shut down without flushing
its journal at a random moment under load. All processes are killed, the file system is mounted again (which replays the
journal), the service starts, and every request that was ever acknowledged is compared with the database. As controls
the same happens to databases that do not wait for their disk: each has to lose something. Needs root and loop devices.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from secrets import randbelow

from bench.histories.records import Submission
from bench.killing.acknowledged import Losses, losses, wait_until_made
from bench.killing.power import COMMITS_UNFLUSHED, NEVER_FLUSHES, DidNotStart, PoweredService, powered_service
from bench.kills import AFTER, BEFORE, LONGEST_MOMENT_MS, asking, wait_for_more
from deploy.failover.callers import Callers

# Cuts of a control that lose nothing, before that counts as never. One may come just after everything was written.
MOST_CONTROLS = 10


@dataclass(frozen=True, slots=True)
class Cut:
    """Figures of one cut: the requests acknowledged in its round, and the state of all up to then."""

    seconds: float
    acknowledged: int
    losses: Losses

    def __str__(self) -> str:
        return (
            f"{self.acknowledged:4} acknowledged, ready after {self.seconds:4.1f} s; "
            f"of all so far {self.losses.lost} lost, {self.losses.double} double, "
            f"{self.losses.not_made} without exactly one group, {self.losses.violations} violations"
        )

    @property
    def is_sound(self) -> bool:
        """Whether the history checker found nothing."""
        return self.losses.violations == 0


def main() -> None:
    """Cut the power so often, and then that of the controls. Ends with 1 for a loss, and for a control without one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--callers", type=int, default=16)
    asked = parser.parse_args()
    cuts = prove(asked.cuts, asked.callers)
    sound = sum(each.is_sound for each in cuts)
    acknowledged = sum(each.acknowledged for each in cuts)
    print(f"{sound} of {len(cuts)} cuts lost and doubled nothing of {acknowledged:,} acknowledged requests.\n")
    controls = {
        "synchronous_commit off": lambda: lose(COMMITS_UNFLUSHED, asked.callers),
        "fsync off": lambda: lose(NEVER_FLUSHES, asked.callers),
    }
    losing = [_found(name, control) for name, control in controls.items()]
    sys.exit(not (sound == len(cuts) and all(losing)))


def prove(cuts: int, callers: int) -> Sequence[Cut]:
    """Cut the power of one service again and again, and print the figures of each cut."""
    done: list[Cut] = []
    submissions: list[Submission] = []
    with powered_service() as powered:
        for number in range(cuts):
            done.append(cut_under_load(powered, callers, submissions))
            print(f"Cut {number + 1:2}: {done[-1]}", flush=True)
    return done


def cut_under_load(powered: PoweredService, callers: int, submissions: list[Submission]) -> Cut:
    """Cut the power at a random moment, go on for a while, and check all `submissions` ever made.

    Callers repeat a call without an answer under its Idempotency-Key. Raises DidNotStart.
    """
    called = Callers([powered.service], callers)
    with asking(called):
        wait_for_more(called, BEFORE)
        time.sleep(randbelow(LONGEST_MOMENT_MS) / 1000)
        seconds = powered.cut_power()
        wait_for_more(called, AFTER)
    submissions += called.submissions
    address = powered.service.embedded_addresses.worker
    wait_until_made(address)
    return Cut(seconds, len(called.accepted), losses(address, submissions))


def lose(settings: Sequence[str], callers: int) -> str:
    """Cut the power of a database that does not wait for its disk. Answers the loss, empty without one."""
    for _ in range(MOST_CONTROLS):
        with powered_service(loses=settings) as powered:
            try:
                cut = cut_under_load(powered, callers, [])
            except DidNotStart:
                return "the database did not start any more: everything"
            if cut.losses.lost:
                return f"{cut.losses.lost} of {cut.acknowledged} acknowledged requests"
    return ""


def _found(name: str, control: Callable[[], str]) -> bool:
    lost = control()
    print(f"Control with {name}: lost {lost or 'nothing, so the zeros above prove nothing'}.", flush=True)
    return bool(lost)


if __name__ == "__main__":
    main()
