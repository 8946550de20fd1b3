"""Where in a template users, groups and other things are named."""

from collections.abc import Iterable, Iterator
from uuid import UUID

from chamberlain.core.constraints_pointers import child
from chamberlain.core.ids import GroupId, PolicyId, TemplateId, UserId
from chamberlain.requests.schema import ApprovalShape, GroupApprover, ManagerApprover, UserApprover
from chamberlain.template_admin.documents import TemplateShape
from chamberlain.template_admin.models_template_references import TemplateReferences
from chamberlain.templates.rules import users_in
from chamberlain.templates.schema import GroupTemplateShape
from chamberlain.templates.schema_audiences import AudienceShape
from chamberlain.templates.schema_custom_fields import to_custom_field
from chamberlain.templates.schema_guest_templates import GuestTemplateShape
from chamberlain.templates.schema_mailbox_templates import MailboxDefaultsShape, MailboxTemplateShape

Placed = tuple[str, UUID]


def references_of(shape: TemplateShape) -> TemplateReferences:
    """Whom and what a template names."""
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
        yield child("/defaults/permissions", user), UUID(user)
    for name, owner in (("primaryOwner", defaults.primary_owner), ("secondaryOwner", defaults.secondary_owner)):
        if owner is not None:
            yield f"/defaults/{name}", UUID(owner)


def _in_fields(shape: MailboxTemplateShape) -> Iterator[Placed]:
    """Users whom its own defaults name in custom fields."""
    fields = [to_custom_field(each) for each in shape.custom_fields]
    for field, user in users_in(fields, shape.defaults.metadata):
        yield child("/defaults/metadata", field.key), user


def _placed(pointer: str, ids: Iterable[UUID]) -> Iterator[Placed]:
    return ((child(pointer, place), each) for place, each in enumerate(ids))


def _users(placed: Iterable[Placed]) -> tuple[tuple[str, UserId], ...]:
    return tuple((pointer, UserId(each)) for pointer, each in placed)


def _groups(placed: Iterable[Placed]) -> tuple[tuple[str, GroupId], ...]:
    return tuple((pointer, GroupId(each)) for pointer, each in placed)
