# SPDX-License-Identifier: Apache-2.0
"""Converts entries of groups to subjects, and decides which guests leave. Pure."""

from collections.abc import Collection, Mapping
from datetime import datetime

from chamberlain.core.ids import GroupId, PolicyId, RequestId, TemplateId, TenantId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.core.text import clean_line
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.opensuite.entry import Entry, normalized_dn
from chamberlain.directory.opensuite.groups import member_ship_type_of
from chamberlain.directory.opensuite.guest_settings import stored_rules
from chamberlain.directory.opensuite.layout import Layout, id_in, marks_of
from chamberlain.directory.opensuite.members import display_name_of, local_part_of
from chamberlain.directory.opensuite.room_state import TeamInRooms
from chamberlain.directory.port import Stayed
from chamberlain.directory.subjects import Guest, ObservedSubject, SubjectReference, SubjectSummary, SubjectType


def observed_subject(
    entry: Entry,
    reference: SubjectReference,
    layout: Layout,
    *,
    team: TeamInRooms | None,
    guests: Mapping[str, Entry],
    seen: Mapping[str, datetime | None],
) -> ObservedSubject:
    """Convert the entry of a group.

    `team` has its rooms, if it is a team. `guests` and `seen` have normalized names as keys.
    """
    names, summary = layout.names, subject_summary(entry, reference.tenant_id, reference.extension, layout)
    owners = set(map(normalized_dn, entry.all(names.owner)))
    rules, in_rooms = stored_rules(entry.one(names.guest_rules)), team.people if team is not None else frozenset()
    people = owners | set(map(normalized_dn, entry.all(names.member)))
    present = [dn for dn, guest in guests.items() if dn in people or local_part_of(guest, layout) in in_rooms]
    return ObservedSubject(
        tenant_id=summary.tenant_id,
        id=summary.id,
        type=SubjectType.GROUP,
        display_name=summary.display_name,
        mail=summary.mail,
        is_team=summary.is_team,
        member_ship_type=summary.member_ship_type,
        request_id=summary.request_id,
        template_id=summary.template_id,
        policy_id=summary.policy_id,
        rules=rules if rules is None or team is None else team.enforced_rules(rules),
        site=None,
        guests=tuple(sorted([_guest(guests[dn], layout, seen.get(dn)) for dn in present], key=lambda each: each.id)),
        owners=len(owners),
        guest_owners=frozenset(UserId(guests[dn].id) for dn in present if dn in owners),
    )


def subject_summary(entry: Entry, tenant_id: TenantId, extension: str, layout: Layout) -> SubjectSummary:
    """Convert the entry of a group to a summary."""
    marks, mail = marks_of(entry, extension), entry.one(layout.names.mail)
    request_id, template_id, policy_id = (id_in(marks, each) for each in ("requestId", "templateId", "policyId"))
    return SubjectSummary(
        tenant_id=tenant_id,
        id=GroupId(entry.id),
        type=SubjectType.GROUP,
        display_name=clean_line(display_name_of(entry, layout)),
        mail=None if mail is None else clean_line(mail),
        is_team=entry.one(layout.names.room) is not None,
        member_ship_type=member_ship_type_of(entry, layout),
        request_id=None if request_id is None else RequestId(request_id),
        template_id=None if template_id is None else TemplateId(template_id),
        policy_id=None if policy_id is None else PolicyId(policy_id),
    )


def leaving_guests(group: Entry, guests: Mapping[str, Entry], layout: Layout) -> list[Entry]:
    """Select the guests whom a group can lose.

    `guests` has normalized names as keys.

    Members by rule stay, and so does the first owner of a group that would have no owner left.
    """
    owners = set(map(normalized_dn, group.all(layout.names.owner)))
    members = set(map(normalized_dn, group.all(layout.names.member)))
    if member_ship_type_of(group, layout) is MemberShipType.DYNAMIC:
        going = {dn for dn in guests if dn in owners and dn not in members}
    else:
        going = {dn for dn in guests if dn in owners or dn in members}
    if owners and owners <= going:
        going.remove(min(owners, key=lambda dn: guests[dn].id))
    return [guests[dn] for dn in sorted(going)]


def stayed_guests(subject: ObservedSubject | None, user_ids: Collection[UserId]) -> tuple[Stayed, ...]:
    """List the guests who could not be removed, with the reasons."""
    if subject is None:
        return ()
    present = [guest for guest in subject.guests if guest.id in user_ids]
    if subject.member_ship_type is MemberShipType.DYNAMIC:
        return tuple([_stayed(guest, "membersFollowRule") for guest in present])
    # Another user has added the other ones again.
    return tuple([_stayed(guest, "lastOwner") for guest in present if guest.id in subject.guest_owners])


def _stayed(guest: Guest, code: str) -> Stayed:
    sentence = Reason.build(code, guest=guest.display_name).sentence
    return Stayed(guest.id, code, sentence, guest.display_name)


def _guest(entry: Entry, layout: Layout, seen: datetime | None) -> Guest:
    mail = entry.one(layout.names.mail)
    return Guest(
        UserId(entry.id),
        None if mail is None else clean_line(mail),
        clean_line(display_name_of(entry, layout)),
        seen,
    )
