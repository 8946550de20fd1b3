# SPDX-License-Identifier: Apache-2.0
"""A question: what is asked for under load, how one sees that it has come about, and what that is compared with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.measuring.limit import Limit
from bench.measuring.load import Load
from tests.services import Service

BENCH = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Question:
    """How much of something can be asked for each second, and how much of it comes about beside that?

    `name` is that of its files in bench/: a script for wrk, the tables of the limit, and its transaction. `environment`
    is what the script reads beside the token and the number of the run. `made` is a statement that counts what has come
    about, `unfinished` one that counts the jobs that are left, `is_retrievable` looks over HTTP for what one request
    has made. `preparation` are statements that the database of each service is prepared with. `has_ordinary_way` says
    that bench/ordinary/ takes the same calls.
    """

    name: str
    scope: str
    environment: Mapping[str, str]
    made: str
    unfinished: str
    is_retrievable: Callable[[Service, str], bool]
    preparation: Path | None = None
    has_ordinary_way: bool = False

    @property
    def limit(self) -> Limit:
        """Return the run of PostgreSQL alone with the same rows."""
        return Limit(BENCH / f"{self.name}.tables.sql", BENCH / f"{self.name}.limit.sql")

    def load(self, service: Service, url: str, run: int) -> Load:
        """Requests for something that no other run asks for, with a token of this service."""
        token = service.token("ada@estate.example", self.scope)
        environment = {**self.environment, "BENCH_TOKEN": token, "BENCH_RUN": str(run)}
        return Load(BENCH / f"{self.name}.lua", url, environment)
