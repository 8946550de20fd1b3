# SPDX-License-Identifier: Apache-2.0
"""One round: under load the node that leads is taken away, and what becomes of everything is looked at."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from chamberlain.database.connection import Hosts
from deploy.failover.callers import Accepted, Callers
from deploy.failover.cluster import Cluster, Node
from deploy.failover.installation import Installation
from deploy.failover.programs import CannotTry, wait_until

# Groups that are there before anything happens, and that come afterwards.
BEFORE, AFTER = 200, 200
# Longer than either may take: what is later counts as never.
WRITING_WITHIN = 120.0
RETRIEVABLE_WITHIN = 120.0


class Fault(StrEnum):
    """A fault of the leader: killed, or frozen with its connections open."""

    KILL = "kill"
    FREEZE = "freeze"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one round; seconds are counted from the fault.

    A group is `lost` when it was acknowledged and is not in the database afterwards. It is `double` when the same key
    has made more than one.
    """

    round: int
    fault: Fault
    node: str
    writing_after: float
    writing_after_each: list[float]
    retrievable_after: float | None
    acknowledged: int
    lost: int
    not_retrievable: int
    double: int
    refused: dict[str, int]
    processes_ended: list[int]


def run_round(number: int, cluster: Cluster, installation: Installation, fault: Fault, at_once: int) -> Outcome:
    """Do it once; afterwards both nodes are there again. Raises CannotTry."""
    callers = Callers(installation.services, at_once)
    node = _leader(cluster)
    with _calling(callers):
        wait_until(lambda: len(callers.accepted) >= BEFORE, 120, f"{BEFORE} groups are accepted")
        _take_away(node, fault)
        begin = time.monotonic()
        wait_until(lambda: _all_write(callers, begin, len(installation.services)), WRITING_WITHIN, "All write again")
        since = len(callers.accepted)
        wait_until(lambda: len(callers.accepted) >= since + AFTER, 120, f"{AFTER} more groups are accepted")
    acknowledged = callers.accepted
    lost = asyncio.run(_missing(installation, [each.request_id for each in acknowledged]))
    expected = {each.request_id for each in acknowledged} - lost
    found = _retrieved(installation, expected)
    retrievable_after = time.monotonic() - begin
    _bring_back(cluster, node, fault)
    seconds = _writing_after(acknowledged, begin, len(installation.services))
    return Outcome(
        round=number,
        fault=fault,
        node=node.name,
        writing_after=round(max(seconds), 2),
        writing_after_each=[round(each, 2) for each in seconds],
        retrievable_after=round(retrievable_after, 2) if expected <= found.keys() else None,
        acknowledged=len(acknowledged),
        lost=len(lost),
        not_retrievable=len(expected - found.keys()),
        double=asyncio.run(_doubles(installation)) + sum(found[each] > 1 for each in expected),
        refused=callers.refused,
        processes_ended=installation.ended(),
    )


def _leader(cluster: Cluster) -> Node:
    found = cluster.leader()
    if found is None:
        raise CannotTry("No node leads.")
    return found


@contextmanager
def _calling(callers: Callers) -> Iterator[None]:
    with ThreadPoolExecutor(max_workers=1) as beside:
        calling = beside.submit(callers.run)
        try:
            yield
            callers.stop()
            wait_until(calling.done, 60, "Everybody has an answer")
        finally:
            callers.give_up()
        calling.result()


def _take_away(node: Node, fault: Fault) -> None:
    match fault:
        case Fault.KILL:
            node.kill()
        case Fault.FREEZE:
            node.freeze()


def _bring_back(cluster: Cluster, node: Node, fault: Fault) -> None:
    match fault:
        case Fault.KILL:
            cluster.start_patroni(node)
        case Fault.FREEZE:
            node.thaw()
    cluster.wait_until_safe()


def _all_write(callers: Callers, begin: float, services: int) -> bool:
    # Only what was asked for since then tells anything: other answers may have been on their way.
    return {each.service for each in callers.accepted if each.asked > begin} >= set(range(services))


def _writing_after(accepted: list[Accepted], begin: float, services: int) -> list[float]:
    return [
        min(each.answered for each in accepted if each.asked > begin and each.service == service) - begin
        for service in range(services)
    ]


async def _missing(installation: Installation, request_ids: list[str]) -> set[str]:
    statement = (
        "SELECT asked::text FROM unnest($1::uuid[]) asked EXCEPT SELECT request_id::text FROM chamberlain.request"
    )
    connection = await Hosts(installation.outside.addresses.worker).connect()
    try:
        return {row[0] for row in await connection.fetch(statement, request_ids)}
    finally:
        await connection.close()


async def _doubles(installation: Installation) -> int:
    """Count names of the trial that are in more than one request."""
    statement = (
        "SELECT count(*) FROM (SELECT FROM chamberlain.request WHERE display_name LIKE 'Failover %' "
        "GROUP BY display_name HAVING count(*) > 1) double"
    )
    connection = await Hosts(installation.outside.addresses.worker).connect()
    try:
        return int(await connection.fetchval(statement))
    finally:
        await connection.close()


def _retrieved(installation: Installation, expected: set[str]) -> Counter[str]:
    """How often each request's group is in the directory, when all are or the time is over."""
    end = time.monotonic() + RETRIEVABLE_WITHIN
    while True:
        found = installation.services[0].provisioned()
        if expected <= found.keys() or time.monotonic() > end:
            return found
        time.sleep(0.2)
