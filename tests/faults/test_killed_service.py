# SPDX-License-Identifier: Apache-2.0
"""The one process of the embedded kind is killed under load: what it has acknowledged is there after the next start."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.load import Load
from tests.folders import data_folder
from tests.services import start_service, wait_until

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(
    "before_the_kill",
    [pytest.param(300, id="300 groups"), pytest.param(5_000, id="5,000 groups", marks=pytest.mark.heavy)],
)
def test_it_works_after_the_next_start(before_the_kill: int) -> None:
    with data_folder() as folder, ThreadPoolExecutor(max_workers=1) as beside:
        service = start_service(folder)
        service.wait_until_ready()
        load = Load([service])
        service.headers()
        loading = beside.submit(load.run, 1_000_000, lambda: service.process.poll() is not None)
        wait_until(lambda: len(load.accepted) >= before_the_kill, within=60)

        service.kill()
        loading.result()
        acknowledged = Counter(load.accepted)
        begin = time.monotonic()
        again = start_service(folder, port=service.port)
        again.wait_until_ready()
        ready_after = time.monotonic() - begin

        try:
            # Leases of the killed process last for ten seconds.
            wait_until(lambda: acknowledged <= again.provisioned(), within=40, otherwise=again.said)
            assert set(again.provisioned().values()) == {1}
            address = again.embedded_addresses.worker
            wait_until(lambda: not load.violations(address), 40, lambda: f"{load.violations(address)[:10]}")
            assert ready_after < 20
        finally:
            assert again.stop() == 0
