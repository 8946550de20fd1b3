"""Groups in the words of both sides: ours, and those of the embedded directory."""

from hashlib import sha1
from uuid import UUID

from chamberlain.core.ids import GroupId, RequestId, TenantId, UserId
from chamberlain.core.text import clean_line, clean_lines
from chamberlain.directory.groups import GroupReference, MemberShipType, ObservedGroup, WantedGroup
from chamberlain.embedded.directory.entries import GroupEntry, Mark
from chamberlain.embedded.directory.groups import GroupShown

# The member of the extension attribute that a group or mailbox is found by; bootstrap makes both stores with it.
KEY_MEMBER = "requestId"


def group_id_of(reference: GroupReference) -> GroupId:
    """The id that the group of a request gets when it is made: always the same, so that making it twice makes one."""
    return GroupId(request_object_id(reference.tenant_id, reference.extension, reference.request_id))


def request_object_id(tenant_id: TenantId, extension: str, request_id: RequestId) -> UUID:
    """The id of what a request makes.

    It begins as the request's id does, so that groups lie in the order of their requests; the rest is a digest of whose
    request it is (a version 8 UUID, RFC 9562).
    """
    own = request_id.bytes
    digest = sha1(own + f"{tenant_id}/{extension}".encode(), usedforsecurity=False).digest()
    marked = bytes((digest[6] & 0x0F | 0x80, digest[7], digest[8] & 0x3F | 0x80))
    return UUID(bytes=own[:6] + marked + digest[9:16])


def mark_of(reference: GroupReference) -> Mark:
    """How the directory finds a group again."""
    return Mark(reference.tenant_id, reference.extension, str(reference.request_id))


def entry_of(wanted: WantedGroup) -> GroupEntry:
    """A group as the directory is to have it."""
    reference = GroupReference(wanted.tenant_id, wanted.extension, wanted.request_id)
    is_public = wanted.member_ship_type is MemberShipType.PUBLIC
    is_dynamic = wanted.member_ship_type is MemberShipType.DYNAMIC
    return GroupEntry(
        mark=mark_of(reference),
        id=group_id_of(reference),
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


def observed_of(shown: GroupShown) -> ObservedGroup:
    """A group as the directory shows it."""
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
        member_ship_type=_member_ship_type(shown),
    )


def _member_ship_type(shown: GroupShown) -> MemberShipType:
    if shown.is_dynamic:
        return MemberShipType.DYNAMIC
    return MemberShipType.PUBLIC if shown.visibility == "Public" else MemberShipType.PRIVATE
