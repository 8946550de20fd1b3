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

from bench.killing.acknowledged import DOUBLE, LOST, NOT_MADE, count, wait_until_made
from bench.killing.power import COMMITS_UNFLUSHED, NEVER_FLUSHES, DidNotStart, PoweredService, powered_service
from bench.kills import AFTER, BEFORE, LONGEST_MOMENT_MS, asking, wait_for_more
from deploy.failover.callers import Accepted, Callers

# Cuts of a control that lose nothing, before that counts as never. One may come just after everything was written.
MOST_CONTROLS = 10


@dataclass(frozen=True, slots=True)
class Cut:
    """Figures of one cut: the requests acknowledged in its round, and the state of all up to then."""

    seconds: float
    acknowledged: int
    lost: int
    double: int
    not_made: int

    def __str__(self) -> str:
        return (
            f"{self.acknowledged:4} acknowledged, ready after {self.seconds:4.1f} s; "
            f"of all so far {self.lost} lost, {self.double} double, {self.not_made} without exactly one group"
        )

    @property
    def is_sound(self) -> bool:
        """Whether nothing was lost or done twice."""
        return (self.lost, self.double, self.not_made) == (0, 0, 0)


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
    accepted: list[Accepted] = []
    with powered_service() as powered:
        for number in range(cuts):
            done.append(cut_under_load(powered, callers, accepted))
            print(f"Cut {number + 1:2}: {done[-1]}", flush=True)
    return done


def cut_under_load(powered: PoweredService, callers: int, accepted: list[Accepted]) -> Cut:
    """Cut the power at a random moment, go on for a while, and compare all requests ever `accepted`.

    Callers repeat a call without an answer under its Idempotency-Key. Raises DidNotStart.
    """
    called = Callers([powered.service], callers)
    with asking(called):
        wait_for_more(called, BEFORE)
        time.sleep(randbelow(LONGEST_MOMENT_MS) / 1000)
        seconds = powered.cut_power()
        wait_for_more(called, AFTER)
    accepted += called.accepted
    address = powered.service.embedded_addresses.worker
    wait_until_made(address)
    ids = [each.request_id for each in accepted]
    return Cut(
        seconds,
        acknowledged=len(called.accepted),
        lost=count(address, LOST, ids),
        double=count(address, DOUBLE, [each.name for each in accepted]),
        not_made=count(address, NOT_MADE, ids),
    )


def lose(settings: Sequence[str], callers: int) -> str:
    """Cut the power of a database that does not wait for its disk. Answers the loss, empty without one."""
    for _ in range(MOST_CONTROLS):
        with powered_service(loses=settings) as powered:
            try:
                cut = cut_under_load(powered, callers, [])
            except DidNotStart:
                return "the database did not start any more: everything"
            if cut.lost:
                return f"{cut.lost} of {cut.acknowledged} acknowledged requests"
    return ""


def _found(name: str, control: Callable[[], str]) -> bool:
    lost = control()
    print(f"Control with {name}: lost {lost or 'nothing, so the zeros above prove nothing'}.", flush=True)
    return bool(lost)


if __name__ == "__main__":
    main()
