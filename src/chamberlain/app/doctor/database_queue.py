"""What waits to be done: jobs that are due, and those that wait for a person."""

from collections.abc import Sequence

from chamberlain.app.doctor.checks import judge_queue
from chamberlain.app.doctor.checks_looks import look
from chamberlain.app.doctor.database import Opened
from chamberlain.core.checkups import Checkup, doubtful
from chamberlain.database.transactions import Transaction
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models_figures import counted


async def look_at_queue(opened: Opened) -> Sequence[Checkup]:
    """Of all tenants."""

    async def read(tx: Transaction) -> Sequence[Checkup]:
        depth = await queue_jobs.measure(tx)
        queue = judge_queue(depth.due, depth.oldest, is_stopped=opened.was_stopped)
        return [queue, *_held(depth.held)]

    return await look("queue", opened.worker, read)


def _held(count: int) -> Sequence[Checkup]:
    if not count:
        return ()
    held = f"{counted(count, 'job')} {'waits' if count == 1 else 'wait'}"
    cure = "See `chamberlain jobs list`, mend the cause, then `chamberlain jobs release`."
    return [doubtful("queue", f"{held} for a person.", cure)]
