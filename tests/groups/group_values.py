# SPDX-License-Identifier: Apache-2.0
"""A tenant's people and an ordinary template, for the tables of cases; each case changes what it is about."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from chamberlain.core.ids import GroupId, RequestId, TemplateId, TenantId, UserId
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import MemberShipType, WantedGroup
from chamberlain.directory.models import MailAddress, PeopleAnswer, Person
from chamberlain.groups.models import GroupNames, GroupOrder
from chamberlain.templates.models import GroupTemplate, TemplateHead, TemplateKind

TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
REQUEST = RequestId(UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10"))
ADA = UserId(UUID("ada00000-0000-4000-8000-000000000001"))
BEN = UserId(UUID("be000000-0000-4000-8000-000000000002"))
CLEO = UserId(UUID("c1e00000-0000-4000-8000-000000000003"))
DARA = UserId(UUID("da7a0000-0000-4000-8000-000000000004"))
ELI = UserId(UUID("e1100000-0000-4000-8000-000000000005"))
NOBODY = UserId(UUID("0000dead-0000-4000-8000-000000000000"))
STAFF = GroupId(UUID("94000000-0000-4000-8000-000000000001"))
LABEL = "1abe1000-0000-4000-8000-000000000001"

GROUP_HEAD = TemplateHead(
    tenant_id=TENANT,
    id=TemplateId(UUID("7e000000-0000-4000-8000-000000000011")),
    revision=1,
    kind=TemplateKind.GROUP,
    name="Project group",
    active=True,
)
TEAM_HEAD = replace(
    GROUP_HEAD,
    id=TemplateId(UUID("7e000000-0000-4000-8000-000000000012")),
    kind=TemplateKind.TEAM,
    name="Project team",
)
TEMPLATE = GroupTemplate(
    head=GROUP_HEAD,
    audience=None,
    display_name_rule="{input}",
    mail_nickname_rule=None,
    member_ship_type=0,
    member_ship_type_changeable=True,
    membership_rule=None,
    owners=(),
    members=(),
    minimum_owners=1,
    custom_fields=(),
    label_id=None,
    channels=(),
    guest_template_id=None,
    guest_policy_id=None,
    approval=None,
)
ORDER = GroupOrder("Apollo", TEMPLATE.head.id)
# The embedded directory.
EMBEDDED = Capabilities(timedelta(0), shares_database=True)
# The desired state of this order of Ada's.
WANTED = WantedGroup(
    tenant_id=TENANT,
    request_id=REQUEST,
    display_name="Apollo",
    mail_nickname="apollo",
    mail="apollo@estate.example",
    description=None,
    member_ship_type=MemberShipType.PRIVATE,
    membership_rule=None,
    owners=(ADA,),
    members=(ADA,),
    label_id=None,
    channels=None,
    extension="chamberlain_group",
    marks={"requestId": str(REQUEST)},
)
NAMES = GroupNames("Apollo", (MailAddress("apollo", "apollo@estate.example"),))


def person(user: UserId, *, has_team_license: bool = True) -> Person:
    """A user of the directory."""
    return Person(user, "Somebody", None, has_team_license, {})


ANSWER = PeopleAnswer(people={user: person(user) for user in (ADA, BEN, CLEO)}, labels=frozenset({LABEL}))
