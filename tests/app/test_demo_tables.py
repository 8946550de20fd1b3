# SPDX-License-Identifier: Apache-2.0
"""The people and orders of the demo: complete, unique, and the same at each run."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from chamberlain.app.demo.orders import ASSIGNMENTS, GUESTS_OF_GROUPS, RENAMED, Decision, guests_of, orders
from chamberlain.app.demo.people import GUESTS, directory_section, people
from chamberlain.embedded.directory.estate import read_estate

pytestmark = pytest.mark.pure


def test_it_works_for_people() -> None:
    by_id = {each.id: each for each in people()}

    assert len(by_id) == len({each.address for each in people()}) == len({e.display_name for e in people()}) == 200
    assert all(each.address.isascii() for each in people())
    assert [each.display_name for each in people() if each.manager is None] == ["Amara Adebayo"]
    assert all(each.manager in by_id and each.manager != each.id for each in people()[1:])
    assert min(Counter(each.department for each in people()).values()) >= 4


def test_it_works_for_the_directory() -> None:
    estate = read_estate(directory_section(datetime(2026, 11, 26, tzinfo=UTC)))

    assert Counter(each.user_type for each in estate.users) == {"Member": 200, "Guest": GUESTS}


def test_each_order_has_a_name_of_its_own() -> None:
    names = [each.name for each in orders()]

    assert len(set(names)) == len(names)
    assert {*ASSIGNMENTS, *GUESTS_OF_GROUPS, *RENAMED} <= set(names)


def test_decisions_are_of_every_kind_and_leave_some_undecided() -> None:
    decisions = Counter(each.decision for each in orders() if "CONF-" in each.name)

    assert set(decisions) == {*Decision, None}


def test_each_group_names_guests_who_exist() -> None:
    known = {str(each.id) for each in read_estate(directory_section(datetime(2026, 11, 26, tzinfo=UTC))).users}

    assert all(set(guests_of(name)) <= known for name in GUESTS_OF_GROUPS)
