# SPDX-License-Identifier: Apache-2.0
"""Parse, validate and serialize templates, and find their references."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

from msgspec import json, structs

from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.fields import ADDED_BY_THE_SERVICE
from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.core.json import StoredDecoder, parse_object
from chamberlain.core.validation import Reader, join_pointer
from chamberlain.directory.capabilities import Ability, Capabilities
from chamberlain.directory.mailboxes import MailboxType
from chamberlain.directory.models import known_label
from chamberlain.requests.schema import ApprovalShape, GroupApprover, ManagerApprover, UserApprover
from chamberlain.template_admin.models import TemplateReferences
from chamberlain.templates.capabilities import (
    guest_restriction_faults,
    label_faults,
    mailbox_faults,
    property_faults,
    team_faults,
)
from chamberlain.templates.models import Audience, StoredTemplate, TemplateHead, TemplateKind
from chamberlain.templates.rules import users_in
from chamberlain.templates.schema import (
    AudienceShape,
    GroupTemplateBody,
    GroupTemplateShape,
    GuestTemplateBody,
    GuestTemplateShape,
    MailboxDefaultsShape,
    MailboxTemplateBody,
    MailboxTemplateShape,
    group_template_faults,
    guest_template_faults,
    identified_group_template,
    identified_guest_template,
    identified_mailbox_template,
    mailbox_defaults,
    mailbox_domain_faults,
    mailbox_template_faults,
    to_audience,
    to_custom_field,
    to_guest_template,
)
from chamberlain.templates.webhook import WebhookBody

# A body has no id yet.
CollabTemplateBody = GroupTemplateBody | GuestTemplateBody
TemplateBody = MailboxTemplateBody | CollabTemplateBody
TemplateShape = GroupTemplateShape | MailboxTemplateShape | GuestTemplateShape

_MAILBOX = Reader(MailboxTemplateShape)
_GROUP = Reader(GroupTemplateShape)
_READERS: Mapping[str, Reader[MailboxTemplateShape] | Reader[GroupTemplateShape] | Reader[GuestTemplateShape]] = {
    "shared": _MAILBOX,
    "equipment": _MAILBOX,
    "room": _MAILBOX,
    "group": _GROUP,
    "team": _GROUP,
    "guest": Reader(GuestTemplateShape),
}
_DECODERS: Mapping[TemplateKind, StoredDecoder[TemplateShape]] = {
    TemplateKind(kind): StoredDecoder(reader.type) for kind, reader in _READERS.items()
}
_ADDED_TO_A_WEBHOOK = frozenset({"hasSecret", "disabledReason"})


Value = TypeVar("Value")
KindReader = TypeVar("KindReader")
# The pointer of a place in a template, and the id there.
Placed = tuple[str, UUID]


class TemplateReader(Reader[Value]):
    """Parse the body of a template.

    Properties that the service adds are ignored.
    """

    def read(self, raw: bytes) -> Value:
        """Parse a body. Raises BodyInvalid with all errors.

        Raises Malformed if it is not a JSON object.
        """
        return self.read_value(parse_object(raw))

    def read_value(self, value: object, pointer: str = "") -> Value:
        """Parse a decoded value. `pointer` is its place in the body."""
        if not isinstance(value, Mapping):
            return super().read_value(value, pointer)
        sent = {name: each for name, each in value.items() if name != "id"}
        return super().read_value(_without_additions(sent), pointer)


class CollabTemplateReader(Reader[CollabTemplateBody]):
    """Parse the body of a group, team or guest template."""

    def __init__(self) -> None:
        self._by_kind: Mapping[str, TemplateReader[GroupTemplateBody] | TemplateReader[GuestTemplateBody]] = {
            "group": _GROUP_BODY,
            "team": _GROUP_BODY,
            "guest": _GUEST_BODY,
        }
        self.types = (GroupTemplateBody, GuestTemplateBody)

    def read(self, raw: bytes) -> CollabTemplateBody:
        """Parse a body. Raises BodyInvalid with all errors.

        Raises Malformed if it is not a JSON object.
        """
        return self.read_value(parse_object(raw))

    def read_value(self, value: object, pointer: str = "") -> CollabTemplateBody:
        """Parse a decoded value. `pointer` is its place in the body."""
        kind = value.get("kind") if isinstance(value, Mapping) else None
        return _reader_for(kind, self._by_kind, pointer).read_value(value, pointer)


_GROUP_BODY = TemplateReader(GroupTemplateBody)
_GUEST_BODY = TemplateReader(GuestTemplateBody)
MAILBOX_TEMPLATE = TemplateReader(MailboxTemplateBody)
COLLAB_TEMPLATE = CollabTemplateReader()


def read_template(value: object, *, pointer: str = "") -> TemplateShape:
    """Parse a template with its id. Raises BodyInvalid with all errors."""
    if not isinstance(value, Mapping):
        sentence = "A template must be {expected}."
        raise BodyInvalid((Fault.build(pointer, "wrongType", sentence, expected="an object"),))
    reader = _reader_for(value.get("kind"), _READERS, pointer)
    return reader.read_value(_without_additions(value), pointer)


def template_faults(shape: TemplateShape, pointer: str = "") -> Iterator[Fault]:
    """Validate a template by itself."""
    match shape:
        case GroupTemplateShape():
            yield from group_template_faults(shape, pointer)
        case MailboxTemplateShape():
            yield from mailbox_template_faults(shape, pointer)
        case GuestTemplateShape():
            yield from guest_template_faults(shape, pointer)


def domain_faults(shape: TemplateShape, domains: Collection[str]) -> Iterator[Fault]:
    """Validate that the domains of a template are the tenant's.

    Domains of guests are not.
    """
    match shape:
        case MailboxTemplateShape():
            yield from mailbox_domain_faults(shape, domains)
        case GroupTemplateShape() | GuestTemplateShape():
            return


def capability_faults(shape: TemplateShape, capabilities: Capabilities) -> Iterator[Fault]:
    """Validate a template by what the directory of its tenant can do."""
    match shape:
        case MailboxTemplateShape():
            yield from mailbox_faults(capabilities, "/kind")
            defaults = mailbox_defaults(shape)
            yield from property_faults(defaults, MailboxType(shape.kind), capabilities, "/defaults")
        case GroupTemplateShape():
            yield from label_faults(shape.label_id, capabilities)
            if shape.kind == "team":
                yield from team_faults(shape.channels, capabilities)
        case GuestTemplateShape():
            yield from guest_restriction_faults(to_guest_template(shape).rules, capabilities)


def identified(body: TemplateBody, template_id: TemplateId) -> TemplateShape:
    """Return the template of a body, with its id."""
    match body:
        case MailboxTemplateBody():
            return identified_mailbox_template(body, template_id)
        case GroupTemplateBody():
            return identified_group_template(body, template_id)
        case GuestTemplateBody():
            return identified_guest_template(body, template_id)


def webhook_of(body: TemplateBody) -> WebhookBody | None:
    """Return the webhook of a body, with an optional secret."""
    match body:
        case MailboxTemplateBody() | GroupTemplateBody():
            return body.webhook
        case GuestTemplateBody():
            return None


def stored_template(shape: TemplateShape, tenant_id: TenantId) -> StoredTemplate:
    """Serialize a template. Its revision is set when it is written."""
    head = TemplateHead(
        tenant_id=tenant_id,
        id=TemplateId(shape.id),
        revision=1,
        kind=TemplateKind(shape.kind),
        name=shape.name,
        active=shape.active,
    )
    return StoredTemplate(head, json.encode(shape))


def decode_template(stored: StoredTemplate) -> TemplateShape:
    """Parse a stored template."""
    return _DECODERS[stored.head.kind].decode(stored.content)


def audience_of(stored: StoredTemplate) -> Audience | None:
    """Return the audience of a stored template. None is everyone."""
    shape = decode_template(stored)
    audience = None if isinstance(shape, GuestTemplateShape) else shape.audience
    return None if audience is None else to_audience(audience)


def references_of(shape: TemplateShape) -> TemplateReferences:
    """Find the users, groups and objects that a template names."""
    match shape:
        case MailboxTemplateShape():
            return _of_mailbox_template(shape)
        case GroupTemplateShape():
            return _of_group_template(shape)
        case GuestTemplateShape():
            return TemplateReferences()


def _of_mailbox_template(shape: MailboxTemplateShape) -> TemplateReferences:
    users = (*_listed_users(shape.audience, shape.approval), *_in_defaults(shape.defaults), *_in_fields(shape))
    return TemplateReferences(users=_users(users), groups=_groups(_listed_groups(shape.audience, shape.approval)))


def _of_group_template(shape: GroupTemplateShape) -> TemplateReferences:
    users = (
        *_listed_users(shape.audience, shape.approval),
        *_placed("/owners", shape.owners),
        *_placed("/members", shape.members),
    )
    return TemplateReferences(
        users=_users(users),
        groups=_groups(_listed_groups(shape.audience, shape.approval)),
        label=shape.label_id,
        membership_rule=shape.membership_rule,
        guest_template_id=None if shape.guest_template_id is None else TemplateId(shape.guest_template_id),
        guest_policy_id=None if shape.guest_policy_id is None else PolicyId(shape.guest_policy_id),
    )


def checked_references(shape: TemplateShape, capabilities: Capabilities) -> TemplateReferences:
    """Find the references that the directory can check."""
    references = references_of(shape)
    return references if capabilities.can(Ability.LABELS) else replace(references, label=None)


def with_known_label(shape: TemplateShape, labels: frozenset[str]) -> TemplateShape:
    """Return the template with the directory's id of its label."""
    if not isinstance(shape, GroupTemplateShape) or shape.label_id is None:
        return shape
    return structs.replace(shape, label_id=known_label(shape.label_id, labels))


def _listed_users(audience: AudienceShape | None, approval: ApprovalShape | None) -> Iterator[Placed]:
    if audience is not None:
        yield from _placed("/audience/users", audience.users)
    for pointer, approver in _approvers(approval):
        if isinstance(approver, UserApprover):
            yield pointer, approver.id


def _listed_groups(audience: AudienceShape | None, approval: ApprovalShape | None) -> Iterator[Placed]:
    if audience is not None:
        yield from _placed("/audience/groups", audience.groups)
    for pointer, approver in _approvers(approval):
        if isinstance(approver, GroupApprover):
            yield pointer, approver.id


def _approvers(
    approval: ApprovalShape | None,
) -> Iterator[tuple[str, UserApprover | GroupApprover | ManagerApprover]]:
    for place, level in enumerate(() if approval is None else approval.levels):
        for number, approver in enumerate(level.approvers):
            yield f"/approval/levels/{place}/approvers/{number}/id", approver


def _in_defaults(defaults: MailboxDefaultsShape) -> Iterator[Placed]:
    for user in defaults.permissions or ():
        yield join_pointer("/defaults/permissions", user), UUID(user)
    for name, owner in (("primaryOwner", defaults.primary_owner), ("secondaryOwner", defaults.secondary_owner)):
        if owner is not None:
            yield f"/defaults/{name}", UUID(owner)


def _in_fields(shape: MailboxTemplateShape) -> Iterator[Placed]:
    """Find the users in the default values of custom fields."""
    fields = [to_custom_field(each) for each in shape.custom_fields]
    for field, user in users_in(fields, shape.defaults.metadata):
        yield join_pointer("/defaults/metadata", field.key), user


def _placed(pointer: str, ids: Iterable[UUID]) -> Iterator[Placed]:
    return ((join_pointer(pointer, place), each) for place, each in enumerate(ids))


def _users(placed: Iterable[Placed]) -> tuple[tuple[str, UserId], ...]:
    return tuple((pointer, UserId(each)) for pointer, each in placed)


def _groups(placed: Iterable[Placed]) -> tuple[tuple[str, GroupId], ...]:
    return tuple((pointer, GroupId(each)) for pointer, each in placed)


def _reader_for(kind: object, readers: Mapping[str, KindReader], pointer: str = "") -> KindReader:
    """Return the reader of a kind. Raises BodyInvalid for an unknown kind."""
    reader = readers.get(kind) if isinstance(kind, str) else None
    if reader is None:
        code = "missingProperty" if kind is None else "unknownValue"
        sentence = "{property} must be one of {choices}."
        place = join_pointer(pointer, "kind")
        raise BodyInvalid((Fault.build(place, code, sentence, property="kind", choices=tuple(readers)),))
    return reader


def _without_additions(value: Mapping[str, object]) -> dict[str, object]:
    kept = {name: each for name, each in value.items() if name not in ADDED_BY_THE_SERVICE}
    webhook = kept.get("webhook")
    if isinstance(webhook, Mapping):
        kept["webhook"] = {name: each for name, each in webhook.items() if name not in _ADDED_TO_A_WEBHOOK}
    return kept
