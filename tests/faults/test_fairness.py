# SPDX-License-Identifier: Apache-2.0
"""One tenant has queued very much, then another queues one thing: it does not wait behind the many."""

import pytest

from tests.faults.load import Load
from tests.service.estate import HOUSE_TEMPLATE, furnish
from tests.services import ZOE_MAIL, outside_database, wait_until

MANY = 10_000
LEFT = """
SELECT count(*) FROM chamberlain.job
WHERE tenant_id = 'e57a7e00-0000-4000-8000-000000000001' AND kind = 'groupProvision'
"""
# Those of the many that were done after the one.
LATER = """
SELECT count(*) FROM chamberlain.request
WHERE tenant_id = 'e57a7e00-0000-4000-8000-000000000001'
    AND updated_at > (SELECT updated_at FROM chamberlain.request WHERE request_id = $1)
"""
STATE = "SELECT state FROM chamberlain.request WHERE request_id = $1"


@pytest.mark.timeout(300)
@pytest.mark.heavy
def test_it_is_done_before_the_many() -> None:
    with outside_database() as outside:
        furnish(outside.addresses.worker)
        service = outside.ready_service("--no-worker")
        load = Load([service])
        load.run(1)
        service.token(ZOE_MAIL, "https://api.estate.example/collab/App.ReadWrite.All")
        worker = outside.start_worker()
        wait_until(lambda: outside.value(LEFT) == 0, within=20)

        # It is held still, so that all of the many wait when the one comes.
        worker.pause()
        load.run(MANY)
        one = service.post_group({"displayName": "Just one", "templateId": HOUSE_TEMPLATE}, ZOE_MAIL).json()[
            "requestId"
        ]
        worker.resume()
        wait_until(lambda: outside.value(STATE, one) == "succeeded", within=60)

        wait_until(lambda: outside.value(LEFT) == 0, within=120)
        # Those that are in the worker's hands at the same time may be done before it: far fewer than half.
        assert int(str(outside.value(LATER, one))) > MANY // 2
        assert sum(service.provisioned().values()) == len(load.accepted) == MANY + 1
