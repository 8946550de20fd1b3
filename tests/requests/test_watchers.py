# SPDX-License-Identifier: Apache-2.0
"""Those who wait for one request hear of that one, and of what may have been missed."""

from uuid import UUID

import pytest

from chamberlain.core.ids import RequestId
from chamberlain.database.notify import Watchers

ONE = RequestId(UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10"))
OTHER = RequestId(UUID("3b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f12"))


def test_it_works() -> None:
    watchers = Watchers()
    with watchers.watching(ONE) as first, watchers.watching(ONE) as second, watchers.watching(OTHER) as other:
        watchers.heard(f"{ONE},{UUID(int=1)}")

        assert (first.is_set(), second.is_set(), other.is_set()) == (True, True, False)


@pytest.mark.parametrize(
    ("payload", "woken"), [("", True), (f"{OTHER}", True), (f"{UUID(int=1)}", False), ("x", False)]
)
def test_an_empty_notification_wakes_everybody(payload: str, *, woken: bool) -> None:
    watchers = Watchers()
    with watchers.watching(OTHER) as changed:
        watchers.heard(payload)

        assert changed.is_set() is woken


def test_whoever_leaves_leaves_nothing_behind() -> None:
    watchers = Watchers()
    with watchers.watching(ONE), watchers.watching(OTHER):
        with watchers.watching(ONE):
            assert len(watchers) == 3
        assert len(watchers) == 2

    assert len(watchers) == 0
    watchers.heard("")
