# SPDX-License-Identifier: Apache-2.0
"""Look up every acknowledged request in the database."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench.histories import stored
from bench.histories.records import Rule, Submission
from tests.postgres import connected
from tests.services import wait_until

# Leases of the dead last for ten seconds, and a backlog takes its time.
DONE_WITHIN = 180.0

UNFINISHED = "SELECT count(*) FROM chamberlain.job WHERE kind = 'groupProvision'"
LEASED = (
    "SELECT coalesce(array_agg(lease_id::text || ' ' || job_id), '{}') FROM chamberlain.job WHERE lease_until > now()"
)
STILL_LEASED = """
SELECT count(*) FROM chamberlain.job WHERE lease_id IS NOT NULL AND lease_id::text || ' ' || job_id = ANY ($1::text[])
"""


@dataclass(frozen=True, slots=True)
class Losses:
    """Broken promises by kind: requests that are lost, that exist twice, and that do not have exactly one group."""

    lost: int
    double: int
    not_made: int
    # All violations that the checker found, those above included.
    violations: int


def losses(address: str, submissions: Sequence[Submission]) -> Losses:
    """Count what the history checker finds, given all submissions that the database has ever received."""
    rules = Counter(each.rule for each in stored.violations(address, submissions))
    return Losses(
        lost=rules[Rule.REQUEST_LOST],
        double=rules[Rule.REQUEST_DUPLICATED] + rules[Rule.KEY_ACCEPTED_TWICE],
        not_made=rules[Rule.GROUPS_WRONG] + rules[Rule.REQUEST_UNFINISHED],
        violations=rules.total(),
    )


def count(address: str, statement: str, values: Sequence[str] | None = None) -> int:
    """One number, as the worker's role sees it."""
    return int(str(_asked(address, statement, *(() if values is None else (values,)))))


def leased(address: str) -> Sequence[str]:
    """List the leased jobs, each with its lease."""
    found = _asked(address, LEASED)
    assert isinstance(found, list)
    return found


def wait_until_made(address: str) -> None:
    """Wait until everything that was asked for has come about."""
    wait_until(
        lambda: count(address, UNFINISHED) == 0, DONE_WITHIN, lambda: f"{count(address, UNFINISHED)} jobs are left."
    )


def _asked(address: str, statement: str, *values: object) -> object:
    async def fetch() -> object:
        async with connected(address) as connection:
            return await connection.fetchval(statement, *values)

    return asyncio.run(fetch())
