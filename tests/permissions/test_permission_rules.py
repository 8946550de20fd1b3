# SPDX-License-Identifier: Apache-2.0
"""The permission that allowed a call, and the features of templates and policies in the directory."""

from dataclasses import replace

import pytest

from chamberlain.auth.models import ActorType
from chamberlain.auth.permissions import Operation, find_match, known_names
from chamberlain.directory.features import Feature
from chamberlain.guests.policies.models import Expiry, Inactivity, PolicyAction, PolicyRules
from chamberlain.permissions.rules import policy_features, template_features
from chamberlain.templates.models import TemplateKind
from tests.estates import ADA, PREFIX, PREFIXES, caller_of

pytestmark = pytest.mark.pure
COLLAB, MAIL, CONFIG = "collab/App.ReadWrite.All", "mail/App.ReadWrite.All", "admin/Config.ReadWrite.All"
MANAGE, MAIL_CONFIG = "admin/Mail.Manage.ReadWrite.All", "admin/Mail.Config.ReadWrite.All"


@pytest.mark.parametrize(
    ("operation", "held", "of_user", "of_administrator"),
    [
        (Operation.CREATE_GROUP, {COLLAB, MAIL, CONFIG}, COLLAB, COLLAB),
        # Own requests by the one, all requests by the other.
        (Operation.READ_REQUESTS, {MAIL, CONFIG}, MAIL, CONFIG),
        (Operation.READ_REQUESTS, {COLLAB, MAIL}, COLLAB, COLLAB),
        # The other shows no more.
        (Operation.READ_COLLAB_TEMPLATES, {COLLAB, CONFIG}, COLLAB, COLLAB),
        (Operation.ADMINISTER_SERVICE, {COLLAB, CONFIG}, CONFIG, CONFIG),
    ],
)
def test_it_works_for_users(operation: Operation, held: set[str], of_user: str, of_administrator: str) -> None:
    caller = replace(caller_of(ADA), permissions=frozenset(f"{PREFIX}/{name}" for name in held))

    match = find_match(caller, operation, PREFIXES)

    assert match.name(is_administrator=False) == f"{PREFIX}/{of_user}"
    assert match.name(is_administrator=True) == f"{PREFIX}/{of_administrator}"


def test_the_first_of_the_table_allows_a_call_of_an_application() -> None:
    held = frozenset(f"{PREFIX}/{name}" for name in (MAIL_CONFIG, MANAGE))
    caller = replace(caller_of(ADA), type=ActorType.APPLICATION, permissions=held)

    match = find_match(caller, Operation.CREATE_MAILBOX, PREFIXES)

    assert match.name(is_administrator=False) == f"{PREFIX}/{MANAGE}"


def test_the_names_of_the_api_are_known_and_no_others() -> None:
    assert {f"{PREFIX}/{COLLAB}", f"{PREFIX}/{MANAGE}"} <= known_names(PREFIXES)
    assert not any("openid" in name or "Group.Read.All" in name for name in known_names(PREFIXES))


@pytest.mark.parametrize(
    ("kind", "features"),
    [
        (TemplateKind.ROOM, set[Feature]()),
        (TemplateKind.GROUP, {Feature.GROUPS}),
        (TemplateKind.TEAM, {Feature.TEAMS}),
        (TemplateKind.GUEST, {Feature.GUEST_RULES}),
    ],
)
def test_templates_have_these_features(kind: TemplateKind, features: set[Feature]) -> None:
    assert template_features(kind) == features


@pytest.mark.parametrize(
    ("action", "features"),
    [
        (PolicyAction.NOTIFY, set[Feature]()),
        (PolicyAction.REMOVE, {Feature.REMOVE_GUESTS}),
        (PolicyAction.DISABLE, {Feature.DISABLE_GUESTS}),
    ],
)
def test_policies_have_these_features(action: PolicyAction, features: set[Feature]) -> None:
    expiry = PolicyRules(Expiry(30, (), action), None, None, None)
    inactivity = PolicyRules(None, None, Inactivity(30, (), action), None)

    assert policy_features(expiry) == {Feature.POLICIES, *features}
    assert policy_features(inactivity) == {Feature.POLICIES, Feature.INACTIVITY, *features}
