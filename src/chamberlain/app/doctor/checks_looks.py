"""One look into the database, whatever it comes to."""

from collections.abc import Awaitable, Callable, Sequence

from chamberlain.app.doctor.store import NotThere, looking
from chamberlain.core.checkups import Checkup, faulty
from chamberlain.core.errors import DatabaseUnavailable, Unavailable
from chamberlain.database.transactions import Database, Transaction


async def look(
    name: str, database: Database | None, at: Callable[[Transaction], Awaitable[Sequence[Checkup]]]
) -> Sequence[Checkup]:
    """What is seen, and nothing when there is no database: that is told where it was opened."""
    if database is None:
        return ()
    try:
        async with looking(database) as tx:
            return await at(tx)
    except NotThere as error:
        return [not_there(name, error)]
    except DatabaseUnavailable as error:
        return [faulty(name, f"It cannot be looked at. {error.outage.seen}", error.outage.cure)]
    except Unavailable:
        return [faulty(name, "Another transaction is in the way.", "Run `chamberlain doctor` again.")]


def not_there(name: str, error: NotThere) -> Checkup:
    """What cannot be looked at, because something of the database is missing."""
    return faulty(name, f"It cannot be looked at: {error}.", "See to the migrations and the rights of the roles first.")
