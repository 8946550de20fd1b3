# SPDX-License-Identifier: Apache-2.0
"""Adopted groups: which groups a template takes, and what is recorded of them."""

from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.adoptions.models import AdoptionConflict
from chamberlain.adoptions.rules import MOST_OWNERS, AdoptedGroup, adopted_group, group_candidate
from chamberlain.core.ids import UserId
from chamberlain.directory.groups import MemberShipType, ObservedGroup
from chamberlain.templates.models import TemplateHead, TemplateKind
from tests.adoptions.adoption_values import entry
from tests.drift.drift_values import TEAM, shown_group
from tests.groups.group_values import GROUP_HEAD, TEAM_HEAD, TEMPLATE

pytestmark = pytest.mark.pure

OBSERVED: ObservedGroup = shown_group(TEAM)


def test_a_candidate_holds_its_address_in_lower_case() -> None:
    assert group_candidate(entry(mail="Crew@Estate.example"), TEMPLATE).held == (("address", "crew@estate.example"),)
    assert group_candidate(entry(mail=None), TEMPLATE).held == ()


@pytest.mark.parametrize("is_team", [False, True])
@pytest.mark.parametrize("head", [GROUP_HEAD, TEAM_HEAD])
def test_a_template_takes_only_its_own_kind(is_team: bool, head: TemplateHead) -> None:  # noqa: FBT001
    template = replace(TEMPLATE, head=head)
    takes_teams = template.head.kind is TemplateKind.TEAM

    conflict = group_candidate(entry(is_team=is_team), template).conflict

    if is_team is takes_teams:
        assert conflict is None or conflict.code != "typeDiffers"
    else:
        assert conflict is not None
        assert conflict.code == "typeDiffers"


def test_the_first_hundred_owners_in_order_are_recorded() -> None:
    # Far apart, so that a set has them in another order.
    owners = [UserId(UUID(int=number << 90)) for number in range(MOST_OWNERS + 5, 0, -1)]
    observed = replace(OBSERVED, owners=frozenset(owners))

    found = adopted_group(observed, TemplateKind.TEAM, TEMPLATE.head.id, MemberShipType.PRIVATE)

    assert isinstance(found, AdoptedGroup)
    assert MOST_OWNERS == 100
    assert found.order.owners == tuple(sorted(owners)[:100])
    assert found.owner == UserId(UUID(int=1 << 90))


def test_a_group_without_owners_or_of_another_kind_is_refused() -> None:
    no_owner = adopted_group(
        replace(OBSERVED, owners=frozenset()), TemplateKind.TEAM, TEMPLATE.head.id, MemberShipType.PRIVATE
    )
    no_team = adopted_group(OBSERVED, TemplateKind.GROUP, TEMPLATE.head.id, MemberShipType.PRIVATE)

    assert isinstance(no_owner, AdoptionConflict)
    assert no_owner.code == "noOwner"
    assert isinstance(no_team, AdoptionConflict)
    assert no_team.code == "typeDiffers"
