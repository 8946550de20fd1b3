# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL is killed and stays away for a while: API and worker wait for it, and go on by themselves."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Event

import pytest

from chamberlain.embedded.postgres.roles import addresses_in
from tests.faults.load import Load
from tests.faults.postgres_process import running_postgres_process
from tests.folders import data_folder
from tests.services import GROUP_TEMPLATE, WORKER_RUNNING, filled, wait_until

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(
    ("seconds", "groups"),
    [
        pytest.param(1.0, 200, id="1 second"),
        pytest.param(5.0, 2_000, id="5 seconds", marks=pytest.mark.heavy),
    ],
)
def test_it_goes_on_when_the_database_is_back(seconds: float, groups: int) -> None:
    with data_folder() as folder, running_postgres_process(folder / "postgres") as database:
        addresses = addresses_in(folder / "postgres" / "data", "chamberlain")
        with filled(addresses, folder) as outside, ExitStack() as beside:
            service, worker = outside.ready_service("--no-worker"), outside.start_worker()
            wait_until(lambda: WORKER_RUNNING in worker.said(), within=20)
            load = Load([service])
            service.headers()
            loading = beside.enter_context(_loaded(load, 3 * groups))
            wait_until(lambda: len(load.accepted) >= groups, within=60)

            database.kill()
            begin = time.monotonic()
            # The first call may still be one that was under way.
            wait_until(
                lambda: service.post_group({"displayName": "X", "templateId": GROUP_TEMPLATE}).is_error, within=2
            )
            while time.monotonic() - begin < seconds:
                called = time.monotonic()
                answer = service.post_group({"displayName": "Nowhere", "templateId": GROUP_TEMPLATE})
                assert (answer.status_code, answer.json()["code"]) == (503, "databaseUnavailable")
                assert int(answer.headers["retry-after"]) >= 1
                assert time.monotonic() - called < 2
                assert service.answers("/health/live") == 200
                assert service.answers("/health/ready") == 503
            database.start()

            back = time.monotonic()
            wait_until(lambda: service.answers("/health/ready") == 200, within=10)
            loading.result(timeout=60)
            # Leases of runs that were cut short last for ten seconds.
            acknowledged = Counter(load.accepted)
            wait_until(lambda: acknowledged <= service.provisioned(), within=40, otherwise=worker.said)
            assert time.monotonic() - back < 60
            assert set(service.provisioned().values()) == {1}
            assert {refusal[:2] for refusal in load.refused} <= {(503, "databaseUnavailable")}
            assert all(retry_after is not None for _, _, retry_after in load.refused)
            assert load.unanswered == 0
            assert (worker.process.poll(), service.process.poll()) == (None, None)
            assert (worker.stop(), service.stop()) == (0, 0)


@contextmanager
def _loaded(load: Load, groups: int) -> Iterator[Future[None]]:
    """Ask for so many groups beside the block. A block that has failed does not wait for them: they may never come."""
    given_up = Event()
    with ThreadPoolExecutor(max_workers=1) as beside:
        try:
            yield beside.submit(load.run, 1_000_000, lambda: given_up.is_set() or len(load.accepted) >= groups)
        finally:
            given_up.set()
