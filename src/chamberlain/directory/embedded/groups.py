# SPDX-License-Identifier: Apache-2.0
"""Converts groups between the port and the embedded directory."""

from dataclasses import replace

from chamberlain.core.ids import GroupId, UserId
from chamberlain.core.text import clean_line, clean_lines
from chamberlain.directory.embedded.mapping import KEY_MEMBER, Reference, mark_of, object_id_of
from chamberlain.directory.embedded.steps import Kind
from chamberlain.directory.groups import GUEST_MARKS, MemberShipType, ObservedGroup, remaining
from chamberlain.directory.port import GroupWork
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.changes import SubjectSummaryShown
from chamberlain.embedded.directory.groups import GroupEntry, GroupShown
from chamberlain.embedded.directory.guests import SubjectShown


def group_id_of(reference: Reference) -> GroupId:
    """Derive the id of a request's group."""
    return GroupId(object_id_of(reference))


def member_ship_type_of(shown: GroupShown | SubjectShown | SubjectSummaryShown) -> MemberShipType:
    """Return the membership type of a group."""
    if shown.is_dynamic:
        return MemberShipType.DYNAMIC
    return MemberShipType.PUBLIC if shown.visibility == "Public" else MemberShipType.PRIVATE


def _entry_of(work: GroupWork) -> GroupEntry:
    wanted = work.wanted
    is_public = wanted.member_ship_type is MemberShipType.PUBLIC
    is_dynamic = wanted.member_ship_type is MemberShipType.DYNAMIC
    return GroupEntry(
        mark=mark_of(wanted),
        id=object_id_of(wanted),
        display_name=wanted.display_name,
        mail_nickname=wanted.mail_nickname,
        mail=wanted.mail,
        description=wanted.description,
        visibility="Public" if is_public else "Private",
        membership_rule=wanted.membership_rule if is_dynamic else None,
        label_id=wanted.label_id,
        owners=wanted.owners,
        members=() if is_dynamic else wanted.members,
        channels=wanted.channels,
        values={**wanted.marks, KEY_MEMBER: str(wanted.request_id)},
    )


def _observed_of(shown: GroupShown) -> ObservedGroup:
    return ObservedGroup(
        id=GroupId(shown.id),
        display_name=clean_line(shown.display_name),
        mail=clean_line(shown.mail),
        mail_nickname=clean_line(shown.mail_nickname),
        owners=frozenset(map(UserId, shown.owners)),
        members=frozenset(map(UserId, shown.members)),
        label_id=shown.label_id,
        channels=None if shown.channels is None else tuple(map(clean_line, shown.channels)),
        marks=shown.values,
        description=None if shown.description is None else clean_lines(shown.description),
        member_ship_type=member_ship_type_of(shown),
    )


def _created(entry: GroupEntry) -> GroupEntry:
    """Select the part of a new group.

    A step provisions the group with its first owner, the caller, and the members by rule.
    """
    first = replace(entry, owners=entry.owners[:1])
    return replace(_with_owners(first), membership_rule=entry.membership_rule)


def _with_owners(entry: GroupEntry) -> GroupEntry:
    members = [user for user in entry.owners if user in set(entry.members)]
    return replace(_bare(entry), owners=entry.owners, members=members)


def _bare(entry: GroupEntry) -> GroupEntry:
    values = {name: value for name, value in entry.values.items() if name not in GUEST_MARKS}
    return replace(entry, owners=(), members=(), membership_rule=None, label_id=None, channels=None, values=values)


GROUPS = Kind(
    entry_of=_entry_of,
    observed_of=_observed_of,
    remaining=lambda work, group: remaining(work.wanted, group, work.steps),
    create=Step.CREATE_GROUP,
    created=_created,
    parts={
        Step.ADD_OWNERS: _with_owners,
        Step.ADD_MEMBERS: lambda entry: replace(_bare(entry), members=entry.members),
        Step.SET_LABEL: lambda entry: replace(_bare(entry), label_id=entry.label_id),
        Step.CREATE_TEAM: lambda entry: replace(_bare(entry), channels=()),
        Step.CREATE_CHANNELS: lambda entry: replace(_bare(entry), channels=entry.channels),
        Step.ASSIGN_GUEST_RULES: lambda entry: replace(_bare(entry), values=entry.values),
    },
)
