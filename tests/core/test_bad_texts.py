# SPDX-License-Identifier: Apache-2.0
"""Stored texts with control characters, as the checkup reports them."""

from uuid import UUID

import pytest

from chamberlain.app.doctor.database import judge_texts
from chamberlain.app.doctor.store import BadText
from chamberlain.core.health import HealthState
from tests.groups.group_values import TENANT

pytestmark = pytest.mark.pure

FIRST = BadText("template", TENANT, UUID("7e000000-0000-4000-8000-000000000001"))
SECOND = BadText("policy", TENANT, UUID("90110000-0000-4000-8000-000000000001"))


def test_it_works() -> None:
    (checkup,) = judge_texts([])

    assert (checkup.name, checkup.state, checkup.cure) == ("texts", HealthState.OK, None)


def test_each_bad_text_is_a_fault_of_its_own() -> None:
    found = judge_texts([FIRST, SECOND])

    assert [(each.name, each.state) for each in found] == [("texts", HealthState.FAULT)] * 2
    assert all(each.cure for each in found)
    for checkup, bad in zip(found, (FIRST, SECOND), strict=True):
        assert bad.noun in checkup.seen
        assert str(bad.id) in checkup.seen
        assert str(TENANT) in checkup.seen
