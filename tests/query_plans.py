"""What a statement looks at: told by its plan, so that it is the same on a busy machine as on a quiet one."""

import msgspec
import pytest

from chamberlain.store.database import Transaction

# What is read along an index is the same for a million as for a few.
SIZES = [20_000, pytest.param(1_000_000, marks=[pytest.mark.heavy, pytest.mark.timeout(600)])]


async def rows_looked_at(tx: Transaction, statement: str, *values: object) -> int:
    """Run a statement, and give how many rows the largest step of its plan looks at, with those it throws away."""
    (row,) = await tx.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *values)
    return _largest(msgspec.json.decode(row[0]))


def _largest(plan: object) -> int:
    if isinstance(plan, list):
        return max(map(_largest, plan), default=0)
    if not isinstance(plan, dict):
        return 0
    shown = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    here = sum(plan.get(name, 0) for name in shown) * plan.get("Actual Loops", 1)
    return max([int(here), *map(_largest, plan.values())])
