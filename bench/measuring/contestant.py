"""Those that are compared with the limit: running services, which differ in where their worker is."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.measuring.database import Measured, database_of
from bench.measuring.services import running_services
from bench.measuring.worker import worker_of
from tests.services import Service


@dataclass(frozen=True, slots=True)
class Contestant:
    """A running service and how its worker runs. `processes` are ours; PostgreSQL is a child of the first."""

    name: str
    service: Service
    database: Measured
    processes: Sequence[int]
    has_worker: bool = True


@contextmanager
def contestants() -> Iterator[Sequence[Contestant]]:
    """Three services with the example estate, each with its own embedded database; who is not measured is idle."""
    with (
        running_services((), ("--no-worker",), ("--no-worker",)) as (together, apart, alone),
        worker_of(apart) as worker,
    ):
        yield (
            Contestant("no worker", alone, database_of(alone), [alone.process.pid], has_worker=False),
            Contestant("worker within", together, database_of(together), [together.process.pid]),
            Contestant("worker apart", apart, database_of(apart), [apart.process.pid, worker]),
        )
