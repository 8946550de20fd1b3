# SPDX-License-Identifier: Apache-2.0
"""Those that are compared with the limit: services that differ in where their worker is, and the ordinary way."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.measuring.database import Measured, database_of
from bench.measuring.ordinary import ordinary_way
from bench.measuring.services import running_services
from bench.measuring.worker import worker_of
from tests.services import Service


@dataclass(frozen=True, slots=True)
class Contestant:
    """A service at `url` that is measured, and how its worker runs.

    Processor time is counted of `processes`: PostgreSQL is a child of the service. Accepted requests are in the table
    `requests`.
    """

    name: str
    service: Service
    database: Measured
    url: str
    processes: Sequence[int]
    has_worker: bool = True
    requests: str = "chamberlain.request"


@contextmanager
def contestants() -> Iterator[Sequence[Contestant]]:
    """Three services with the example estate, each with its own embedded database; who is not measured is idle."""
    with (
        running_services((), ("--no-worker",), ("--no-worker",)) as (together, apart, alone),
        worker_of(apart) as worker,
    ):
        yield (
            contestant_of("no worker", alone, has_worker=False),
            contestant_of("worker within", together),
            contestant_of("worker apart", apart, worker),
        )


@contextmanager
def ordinary_contestant(beside: Contestant) -> Iterator[Contestant]:
    """The ordinary way on the database of a service that is idle meanwhile."""
    with ordinary_way(beside.service) as (url, process):
        processes = [process, *beside.processes]
        yield Contestant(
            "ordinary way",
            beside.service,
            beside.database,
            url,
            processes,
            has_worker=False,
            requests="ordinary.request",
        )


def contestant_of(name: str, service: Service, *workers: int, has_worker: bool = True) -> Contestant:
    """A service with its embedded database, and workers in processes of their own."""
    processes = [service.process.pid, *workers]
    return Contestant(name, service, database_of(service), service.url, processes, has_worker)
