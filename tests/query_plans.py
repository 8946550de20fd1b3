# SPDX-License-Identifier: Apache-2.0
"""The rows that a statement reads, by its plan, which is the same on a busy machine as on a quiet one."""

from collections.abc import Iterator

import msgspec
import pytest

from chamberlain.database.transactions import Transaction

# An index scan reads the same for a million rows as for a few.
SIZES = [20_000, pytest.param(1_000_000, marks=[pytest.mark.heavy, pytest.mark.timeout(600)])]


async def rows_looked_at(tx: Transaction, statement: str, *values: object) -> int:
    """Run a statement, and give how many rows the largest step of its plan looks at, with those it throws away."""
    (row,) = await tx.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *values)
    return _largest(msgspec.json.decode(row[0]))


async def blocks_touched(tx: Transaction, statement: str, *values: object) -> int:
    """Run a statement and return how many blocks it touched, functions that it calls included."""
    (row,) = await tx.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", *values)
    (explained,) = msgspec.json.decode(row[0])
    return int(explained["Plan"]["Shared Hit Blocks"]) + int(explained["Plan"]["Shared Read Blocks"])


async def tables_looked_into(tx: Transaction, statement: str, *values: object) -> set[str]:
    """Run a statement, and give the tables that its plan has really read something from, or looked for it in."""
    (row,) = await tx.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *values)
    return set(_tables(msgspec.json.decode(row[0])))


def _tables(plan: object) -> Iterator[str]:
    if isinstance(plan, list):
        for each in plan:
            yield from _tables(each)
    elif isinstance(plan, dict):
        # A part that was ruled out while the statement ran is shown, with no loops.
        if plan.get("Node Type") != "ModifyTable" and plan.get("Actual Loops") and "Relation Name" in plan:
            yield str(plan["Relation Name"])
        yield from _tables(list(plan.values()))


def _largest(plan: object) -> int:
    if isinstance(plan, list):
        return max(map(_largest, plan), default=0)
    if not isinstance(plan, dict):
        return 0
    shown = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    here = sum(plan.get(name, 0) for name in shown) * plan.get("Actual Loops", 1)
    return max([int(here), *map(_largest, plan.values())])
