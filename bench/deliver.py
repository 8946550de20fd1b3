# SPDX-License-Identifier: Apache-2.0
"""How many webhook deliveries go out each second, and does a receiver that hangs take anything away from another?

In each round, in turn: a backlog for one fast receiver alone, and the same backlog beside one that is twice as large,
for receivers that take every call and never answer. The cores are shared by the worker, PostgreSQL and the receivers.
bench/README.md says what the columns mean.
"""

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from bench.measuring.arguments import read_arguments
from bench.measuring.database import Measured, database_of
from bench.measuring.processor import seconds_used
from bench.measuring.receiver import receiver
from bench.measuring.report import Row, report
from bench.measuring.services import running_service
from tests.services import GROUP_TEMPLATE, TEAM_TEMPLATE, Service

COLUMNS = {"ratio": ".2f", "rate": ",.0f", "cpu": ".0f", "drain": ".1f"}
TENANT = "e57a7e00-0000-4000-8000-000000000001"
# Every network of this machine, over http: the receivers have no certificates.
ENVIRONMENT = {"CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "CHAMBERLAIN_WEBHOOK_ALLOW_HTTP": "true"}
BACKLOG = Path(__file__).with_suffix(".sql")
# Whether anything is left. It costs the database next to nothing, whose time is measured.
LEFT = "SELECT count(*) FROM (SELECT FROM chamberlain.job WHERE tenant_id = '{}' AND lane = '{}' LIMIT 1) AS job"
SPENT = "SELECT count(*) FROM chamberlain.delivery WHERE template_id = '{}' AND attempt_count <> 1"
CLEAN = "TRUNCATE chamberlain.delivery, chamberlain.webhook_state; DELETE FROM chamberlain.job WHERE lane IS NOT NULL"
# A backlog that is still there after this time is a fault.
DRAINED_WITHIN = 120.0

Rounds = dict[str, list[Mapping[str, float]]]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(__doc__, quick={"rounds": 1, "number": 2_000}, rounds=3, number=8_000)
    rounds: Rounds = defaultdict(list)
    with ExitStack() as stack:
        service = stack.enter_context(running_service(environment=ENVIRONMENT))
        database = database_of(service)
        _set_webhook(database, GROUP_TEMPLATE, stack.enter_context(receiver("fast")))
        _set_webhook(database, TEAM_TEMPLATE, stack.enter_context(receiver("hanging")))
        _measure(service, database, number=asked.number, hanging=0)
        for _ in range(asked.rounds):
            alone = _measure(service, database, number=asked.number, hanging=0)
            beside = _measure(service, database, number=asked.number, hanging=2 * asked.number)
            rounds["alone"].append({**alone, "ratio": 1.0})
            rounds["beside one that hangs"].append({**beside, "ratio": beside["rate"] / alone["rate"]})
    report("deliver", [Row(name, figures) for name, figures in rounds.items()], columns=COLUMNS)


def _set_webhook(database: Measured, template_id: str, url: str) -> None:
    webhook = json.dumps({"webhook": {"url": url, "active": True}})
    database.execute(
        "UPDATE chamberlain.template_revision SET content = (content::jsonb || "
        f"'{webhook}'::jsonb)::json WHERE template_id = '{template_id}'"
    )


def _measure(service: Service, database: Measured, *, number: int, hanging: int) -> dict[str, float]:
    """One run: how long it takes until the backlog of the fast receiver is gone."""
    database.execute(CLEAN)
    if hanging:
        database.execute(_backlog(TEAM_TEMPLATE, hanging))
    used_before = seconds_used([service.process.pid])
    database.execute(_backlog(GROUP_TEMPLATE, number))
    began = time.monotonic()
    is_gone = database.wait_for_none(LEFT.format(TENANT, GROUP_TEMPLATE), DRAINED_WITHIN)
    assert is_gone, f"The backlog is not gone after {DRAINED_WITHIN} s."
    drain = time.monotonic() - began
    assert database.count(SPENT.format(GROUP_TEMPLATE)) == 0, "Not every delivery went out with one attempt."
    used = seconds_used([service.process.pid]) - used_before
    return {"rate": number / drain, "drain": drain, "cpu": 1e6 * used / number}


def _backlog(template_id: str, number: int) -> str:
    return BACKLOG.read_text().replace(":template_id", template_id).replace(":number", str(number))


if __name__ == "__main__":
    main()
