# SPDX-License-Identifier: Apache-2.0
"""The permission that allowed a call, and the directory permissions of templates and policies."""

from dataclasses import replace

import pytest

from chamberlain.auth.models import ActorType
from chamberlain.auth.permissions import Operation, find_match, known_names
from chamberlain.guests.policies.models import Expiry, Inactivity, PolicyAction, PolicyRules
from chamberlain.permissions.rules import policy_needs, template_needs
from chamberlain.templates.models import TemplateKind
from tests.estates import ADA, PREFIX, PREFIXES, caller_of

pytestmark = pytest.mark.pure
COLLAB, MAIL, CONFIG = "collab/App.ReadWrite.All", "mail/App.ReadWrite.All", "admin/Config.ReadWrite.All"
MANAGE, MAIL_CONFIG = "admin/Mail.Manage.ReadWrite.All", "admin/Mail.Config.ReadWrite.All"
READ = {"User.Read.All", "GroupMember.Read.All"}


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
    ("kind", "label_id", "channels", "needs"),
    [
        (TemplateKind.ROOM, None, (), {"Exchange.ManageAsApp"}),
        (TemplateKind.GROUP, "l", (), {"Group.ReadWrite.All", "SensitivityLabel.Read"}),
        (TemplateKind.TEAM, None, ("News",), {"Group.ReadWrite.All", "TeamMember.ReadWrite.All", "Channel.Create"}),
        (
            TemplateKind.GUEST,
            None,
            (),
            {"Group.ReadWrite.All", "GroupSettings.ReadWrite.All", "Sites.FullControl.All"},
        ),
    ],
)
def test_templates_need_these(
    kind: TemplateKind, label_id: str | None, channels: tuple[str, ...], needs: set[str]
) -> None:
    assert template_needs(kind, label_id=label_id, channels=channels) == READ | needs


@pytest.mark.parametrize(
    ("action", "needs"),
    [
        (PolicyAction.NOTIFY, set[str]()),
        (PolicyAction.REMOVE, {"Group.ReadWrite.All"}),
        (PolicyAction.DISABLE, {"User.EnableDisableAccount.All", "User.RevokeSessions.All"}),
    ],
)
def test_policies_need_these(action: PolicyAction, needs: set[str]) -> None:
    expiry = PolicyRules(Expiry(30, (), action), None, None, None)
    inactivity = PolicyRules(None, None, Inactivity(30, (), action), None)

    assert policy_needs(expiry) == READ | needs
    assert policy_needs(inactivity) == READ | needs | {"AuditLog.Read.All"}
