# SPDX-License-Identifier: Apache-2.0
"""The permissions of each kind of template and policy are those that the recorder sees in use, and no others."""

import pytest

from chamberlain.directory.features import Feature
from chamberlain.directory.microsoft365.permissions import required
from chamberlain.guests.policies.models import ConfirmedBy, Expiry, Inactivity, PolicyAction, PolicyRules, Review
from chamberlain.permissions.rules import policy_features, template_features
from chamberlain.templates.models import TemplateKind
from tests.microsoft365.exercises import record_policy, record_template

NONE = PolicyRules(None, None, None, None)
EACH_RULE = [
    rules
    for action in PolicyAction
    for rules in (
        PolicyRules(Expiry(30, (), action), None, None, None),
        PolicyRules(None, Review(30, 7, ConfirmedBy.OWNERS, (), action), None, None),
        PolicyRules(None, None, Inactivity(30, (), action), None),
    )
]


async def test_without_templates_they_are_those_of_people() -> None:
    permissions = frozenset(required([]))

    recorder = await record_template(None, permissions)

    assert recorder.needs(permissions) == frozenset()
    assert recorder.in_use(permissions) == permissions


@pytest.mark.parametrize("kind", TemplateKind)
async def test_a_template_has_those_in_use(kind: TemplateKind) -> None:
    permissions = frozenset(required(template_features(kind)))

    recorder = await record_template(kind, permissions)

    assert recorder.needs(permissions) == frozenset()
    assert recorder.in_use(permissions) == permissions


@pytest.mark.parametrize("rules", [NONE, *EACH_RULE])
async def test_a_policy_has_those_in_use(rules: PolicyRules) -> None:
    permissions = frozenset(required(policy_features(rules)))

    recorder = await record_policy(rules, permissions)

    assert recorder.needs(permissions) == frozenset()
    assert recorder.in_use(permissions) == permissions


def test_a_team_needs_more_than_a_group() -> None:
    assert set(required([Feature.TEAMS])) - set(required([Feature.GROUPS])) == {"TeamMember.ReadWrite.All"}
