"""What waits to be done: jobs that are due, and those that wait for a person."""

from collections.abc import Sequence

from chamberlain.bootstrap.doctor.databases import Opened
from chamberlain.bootstrap.doctor.looks import look
from chamberlain.rules.checkups import judge_queue
from chamberlain.rules.figures import counted
from chamberlain.rules.health import Checkup, doubtful
from chamberlain.store import jobs
from chamberlain.store.database import Transaction


async def look_at_queue(opened: Opened) -> Sequence[Checkup]:
    """Of all tenants."""

    async def read(tx: Transaction) -> Sequence[Checkup]:
        depth = await jobs.measure(tx)
        queue = judge_queue(depth.due, depth.oldest, is_stopped=opened.was_stopped)
        return [queue, *_held(depth.held)]

    return await look("queue", opened.worker, read)


def _held(count: int) -> Sequence[Checkup]:
    if not count:
        return ()
    held = f"{counted(count, 'job')} {'waits' if count == 1 else 'wait'}"
    cure = "See `chamberlain jobs list`, mend the cause, then `chamberlain jobs release`."
    return [doubtful("queue", f"{held} for a person.", cure)]
