# SPDX-License-Identifier: Apache-2.0
"""A service with very many groups in it: a few are made by the service itself, all others are copies of one of them."""

from collections.abc import Sequence
from pathlib import Path

from bench.measuring.database import Measured, database_of
from tests.services import ADA_MAIL, API, GROUP_TEMPLATE, Service, wait_until

SQL = Path(__file__).with_suffix(".sql")
ADMINISTRATOR = f"{API}/admin/Config.ReadWrite.All"

# More than a page of a list, so that the second page is behind all copies as well.
_BEHIND = 60
# Makes the service look for new groups now, which it does every half minute.
_LOOK = "UPDATE chamberlain.job SET run_at = now() WHERE kind = 'subjectDiscover'"
_SEEN = "SELECT count(*) FROM chamberlain.subject WHERE request_id IS NOT NULL"
# The oldest by time, and the last by name; copies are between those and what comes later.
_AGE = "UPDATE chamberlain.request SET created_at = created_at - interval '1 day'"
_SAMPLE = (
    "SELECT array_agg(request_id::text) FROM (SELECT request_id FROM bench.copied ORDER BY random() LIMIT {}) AS chosen"
)


class Filling:
    """Fills a service that has a worker, step by step. Groups of `behind` are made first."""

    def __init__(self, service: Service) -> None:
        self._database: Measured = database_of(service)
        self._number = 0
        asked = [_asked(service, f"Zebra {number:02}") for number in range(_BEHIND)]
        self._model = _asked(service, "Copied 0000000")
        for request_id in (*asked, self._model):
            service.wait_for_end(request_id, within=60)
        self._database.execute(_LOOK)
        wait_until(lambda: self._database.count(_SEEN) > _BEHIND, within=60)
        self._database.execute(f"{SQL.read_text()};{_AGE};GRANT USAGE ON SCHEMA bench TO chamberlain_worker;")
        self._database.execute("GRANT SELECT ON bench.copied TO chamberlain_worker")

    def fill(self, number: int) -> None:
        """Copy until there are so many."""
        if number > self._number:
            self._database.execute(f"SELECT bench.fill('{self._model}', {self._number + 1}, {number})")
            self._database.settle()
            self._number = number

    def sample(self, most: int) -> Sequence[str]:
        """Request ids of so many copies, in no order."""
        return self._database.texts(_SAMPLE.format(most))


def _asked(service: Service, name: str) -> str:
    answer = service.post_group({"displayName": name, "templateId": GROUP_TEMPLATE}, ADA_MAIL)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["requestId"])
