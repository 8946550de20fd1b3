# SPDX-License-Identifier: Apache-2.0
"""Garbage: what other tests have left in memory is no part of what a test measures."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Let the collector not look through what is there already, as a worker does with what it starts with."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def collected_objects() -> int:
    """Collect what is there; how many objects the collector has put away since the process began."""
    gc.collect()
    return sum(generation["collected"] for generation in gc.get_stats())
