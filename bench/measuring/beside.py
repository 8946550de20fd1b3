# SPDX-License-Identifier: Apache-2.0
"""Several loads at the same time."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.measuring.load import Answered, Load, run_load


def run_beside(loads: Sequence[tuple[Load, int]], *, seconds: int) -> Sequence[Answered]:
    """Put each on with its number of connections, all for so long, and give their answers in the same order."""
    with ThreadPoolExecutor(max_workers=len(loads)) as threads:
        running = [threads.submit(run_load, load, connections=number, seconds=seconds) for load, number in loads]
        return [each.result() for each in running]
