# SPDX-License-Identifier: Apache-2.0
"""Abilities of an open suite, with and without its optional servers."""

from datetime import timedelta

import pytest

from chamberlain.directory.capabilities import Ability
from chamberlain.directory.opensuite.capabilities import suite_capabilities
from chamberlain.directory.properties import DriftProperty

pytestmark = pytest.mark.pure


def test_it_works() -> None:
    found = suite_capabilities(has_teams=True, forgets_addresses=True)

    assert found.abilities == {Ability.MAILBOXES, Ability.TEAMS, Ability.LICENSE_CHECK, Ability.MEMBERSHIP_RULES}
    assert found.unheld == {DriftProperty.GROUP_LABEL, DriftProperty.ASSIGNMENT_SHARING}
    assert (found.visible_after, found.shares_database, found.in_lanes) == (timedelta(seconds=1), False, True)


def test_a_suite_without_matrix_has_no_teams() -> None:
    found = suite_capabilities(has_teams=False, forgets_addresses=True)

    assert not found.can(Ability.TEAMS)
    assert {DriftProperty.GROUP_IS_TEAM, DriftProperty.GROUP_CHANNELS} <= found.unheld


def test_rooms_answer_late_while_addresses_are_cached() -> None:
    found = suite_capabilities(has_teams=True, forgets_addresses=False)

    assert found.visible_after == timedelta(minutes=5)
