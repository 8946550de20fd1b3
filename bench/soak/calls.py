# SPDX-License-Identifier: Apache-2.0
"""The calls to the service, their rate, and the wait until their jobs are done."""

import json
import time
from pathlib import Path

from bench.measuring.database import Measured
from bench.measuring.load import Answered, Load, run_load
from bench.submit_mailbox import SCOPE, SHARED_TEMPLATE
from tests.services import ADA_MAIL, COLLAB, GROUP_TEMPLATE, TEAM_TEMPLATE, Service

# Every network of this machine, over http: the receiver has no certificate.
ENVIRONMENT = {"CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "CHAMBERLAIN_WEBHOOK_ALLOW_HTTP": "true"}
CONNECTIONS = 16
# Long enough to know what the service can do, with all that it makes of it.
TRIAL = 8
DRAINED_WITHIN = 300.0

UNFINISHED = "SELECT count(*) FROM chamberlain.job WHERE held_reason IS NULL AND run_at <= now()"
HELD = "SELECT count(*) FROM chamberlain.job WHERE held_reason IS NOT NULL"


def set_webhook(database: Measured, url: str) -> None:
    """Send the events of every team to a receiver."""
    webhook = json.dumps({"webhook": {"url": url, "active": True}})
    database.execute(
        "UPDATE chamberlain.template_revision SET content = (content::jsonb || "
        f"'{webhook}'::jsonb)::json WHERE template_id = '{TEAM_TEMPLATE}'"
    )


def capacity(service: Service, database: Measured) -> float:
    """How many calls of the mixture the service gets done each second, with all that they bring about."""
    began = time.monotonic()
    answered = run_load(_load(service, run=0, pause=0), connections=CONNECTIONS, seconds=TRIAL)
    drain(database)
    return answered.requests / (time.monotonic() - began)


def call(service: Service, *, run: int, rate: float, seconds: int) -> Answered:
    """Call at this rate for so long, and a little slower, since a pause begins with an answer."""
    load = _load(service, run=run, pause=1e3 * CONNECTIONS / rate)
    return run_load(load, connections=CONNECTIONS, seconds=seconds)


def unfinished_jobs(database: Measured) -> int:
    """Count the jobs that are due and not done."""
    return database.count(UNFINISHED)


def held_jobs(database: Measured) -> int:
    """Count the jobs that wait for a person: none should."""
    return database.count(HELD)


def drain(database: Measured) -> None:
    """Wait until all that was asked for has come about."""
    end = time.monotonic() + DRAINED_WITHIN
    while unfinished_jobs(database) > 1:  # One of those that queue themselves again may just be due.
        if time.monotonic() > end:
            raise SystemExit(f"The queue is not empty after {DRAINED_WITHIN} s.")
        time.sleep(0.1)


def _load(service: Service, *, run: int, pause: float) -> Load:
    environment = {
        "BENCH_TOKEN": service.token(ADA_MAIL, COLLAB),
        "BENCH_MAIL_TOKEN": service.token(ADA_MAIL, SCOPE),
        "BENCH_TEMPLATE": GROUP_TEMPLATE,
        "BENCH_TEAM_TEMPLATE": TEAM_TEMPLATE,
        "BENCH_MAILBOX_TEMPLATE": SHARED_TEMPLATE,
        "BENCH_RUN": str(run),
        "BENCH_PAUSE": str(round(pause)),
    }
    return Load(Path(__file__).with_suffix(".lua"), service.url, environment)
