# SPDX-License-Identifier: Apache-2.0
"""Work for guest rules: assignments of every kind."""

from dataclasses import fields, replace
from uuid import UUID

from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.port import GuestOutcome, GuestWork, Work
from chamberlain.directory.subjects import (
    AddedBy,
    Guest,
    GuestRules,
    ObservedSite,
    ObservedSubject,
    Sharing,
    SubjectReference,
    SubjectSummary,
    SubjectType,
    WantedGuestRules,
    plan_guest_rules,
)
from tests.directory.sample_directory import GIL, HANA, HANDBOOK, PARTNERS, TENANT

EXTENSION = "chamberlain_group"

NO_GUESTS_TEMPLATE = TemplateId(UUID("7e000000-0000-4000-8000-000000000021"))
PARTNERS_TEMPLATE = TemplateId(UUID("7e000000-0000-4000-8000-000000000022"))
POLICY = PolicyId(UUID("90110000-0000-4000-8000-000000000001"))

NO_GUESTS = GuestRules(
    allowed=False, added_by=AddedBy.MEMBERS, allowed_domains=(), blocked_domains=(), sharing=Sharing.DISABLED
)
FROM_PARTNERS = GuestRules(
    allowed=True,
    added_by=AddedBy.OWNERS,
    allowed_domains=("partner.example", 'odd"\\,{}'),
    blocked_domains=(),
    sharing=Sharing.EXISTING_GUESTS,
)
NOT_FROM_RIVALS = GuestRules(
    allowed=True,
    added_by=AddedBy.ADMINISTRATORS,
    allowed_domains=(),
    blocked_domains=("rival.example",),
    sharing=Sharing.ANYONE,
)

CLEARED = WantedGuestRules(TENANT, HANDBOOK, EXTENSION, None, None, None)
# Every combination of marks and rules.
ASSIGNMENTS = (
    CLEARED,
    replace(CLEARED, template_id=NO_GUESTS_TEMPLATE, rules=NO_GUESTS),
    replace(CLEARED, template_id=PARTNERS_TEMPLATE, policy_id=POLICY, rules=FROM_PARTNERS),
    replace(CLEARED, template_id=PARTNERS_TEMPLATE, rules=NOT_FROM_RIVALS),
    replace(CLEARED, policy_id=POLICY),
)


GUEST_GIL = Guest(GIL, "gil@partner.example", "Gil Hartmann")
GUEST_HANA = Guest(HANA, None, "Hana Novak")
OBSERVED_PARTNERS = ObservedSubject(
    tenant_id=TENANT,
    id=PARTNERS,
    type=SubjectType.GROUP,
    display_name="Partners",
    mail="partners@estate.example",
    is_team=True,
    member_ship_type=MemberShipType.PUBLIC,
    request_id=None,
    template_id=None,
    policy_id=None,
    rules=None,
    site=None,
    guests=(GUEST_GIL, GUEST_HANA),
    owners=1,
)
OBSERVED_HANDBOOK = replace(
    OBSERVED_PARTNERS,
    id=HANDBOOK,
    type=SubjectType.SITE,
    display_name="Handbook readers",
    mail=None,
    is_team=False,
    member_ship_type=MemberShipType.PRIVATE,
    site=ObservedSite(
        "https://sites.estate.example/handbook",
        "Handbook",
        sharing=Sharing.NEW_AND_EXISTING_GUESTS,
        default_sharing=Sharing.NEW_AND_EXISTING_GUESTS,
    ),
    guests=(GUEST_GIL,),
    owners=2,
    guest_owners=frozenset({GIL}),
)


def assign(
    group_id: GroupId, assignment: WantedGuestRules, *, remove: tuple[UserId, ...] = (), tenant_id: TenantId = TENANT
) -> GuestWork:
    """Return work with all steps for this assignment."""
    wanted = replace(assignment, tenant_id=tenant_id, id=group_id, remove_guests=remove)
    subject_type = SubjectType.SITE if group_id == HANDBOOK else SubjectType.GROUP
    return Work(wanted, plan_guest_rules(subject_type, template_changes=True))


def reference(group_id: GroupId, tenant_id: TenantId = TENANT) -> SubjectReference:
    return SubjectReference(tenant_id, group_id, EXTENSION)


def subject_of(outcome: GuestOutcome) -> ObservedSubject:
    """Return the subject of successful work."""
    assert outcome.fault is None
    assert outcome.subject is not None
    return outcome.subject


def summary(observed: ObservedSubject) -> SubjectSummary:
    """Return the summary of a group or site in this state."""
    values = {each.name: getattr(observed, each.name) for each in fields(SubjectSummary)}
    return SubjectSummary(**values)
