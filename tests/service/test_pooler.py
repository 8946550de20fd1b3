# SPDX-License-Identifier: Apache-2.0
"""The service behind PgBouncer in transaction mode, of a version that knows nothing of prepared statements."""

from collections import Counter
from dataclasses import replace

import httpx2
import pytest

from tests.faults.load import Load
from tests.folders import data_folder
from tests.service.pooler import SERVER_CONNECTIONS, pooled_database
from tests.services import API, TLS, filled, look_up, wait_until

ALL_STAFF = "94000000-0000-4000-8000-000000000001"
NO_GUESTS = "7e000000-0000-4000-8000-000000000021"

CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE usename = 'chamberlain_application' AND application_name = 'chamberlain application'
"""


@pytest.mark.heavy
@pytest.mark.needs("pgbouncer")
def test_it_works() -> None:
    with data_folder() as folder, pooled_database(folder) as database, filled(database.direct, folder) as outside:
        pooled = {
            **outside.environment,
            "CHAMBERLAIN_DATABASE_URL": database.pooled.application,
            "CHAMBERLAIN_DATABASE_WORKER_URL": database.pooled.worker,
            "CHAMBERLAIN_DATABASE_DIRECT_URL": database.direct.application,
            "CHAMBERLAIN_DATABASE_PREPARED_STATEMENTS": "false",
        }
        behind = replace(outside, environment=pooled)
        one, other = behind.ready_service("--no-worker"), behind.ready_service("--no-worker")
        for _ in range(2):
            behind.start_worker()
        load = Load([one, other])
        load.run(500)
        mailbox = httpx2.post(
            f"{one.url}/mail/v1/mailboxes/",
            json={"name": "pooled", "displayName": "Pooled", "autoMapping": True},
            headers=one.headers(scope=f"{API}/mail/App.ReadWrite.All"),
            verify=TLS,
        )
        used = look_up(database.direct.worker, CONNECTIONS)
        acknowledged = Counter(load.accepted)
        wait_until(lambda: acknowledged <= other.provisioned(), within=40)
        assigned = httpx2.patch(
            f"{one.url}/admin/collab/v1/manage/groups/{ALL_STAFF}/",
            json={"templateId": NO_GUESTS},
            headers=one.headers(scope=f"{API}/admin/Config.ReadWrite.All"),
            verify=TLS,
        )

        assert (load.refused, load.unanswered) == ([], 0)
        assert (mailbox.status_code, assigned.status_code) == (202, 200)
        assert other.wait_for_end(load.accepted[-1])["state"] == "succeeded"
        assert isinstance(used, int)
        assert 0 < used <= SERVER_CONNECTIONS
        assert {each.stop() for each in (one, other)} == {0}
