"""Records of templates: what administrators read and change, and how a change is kept on record."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from chamberlain.auth.models import Actor, Editor
from chamberlain.changes.models import Change, Content, Subject, differences
from chamberlain.core.errors import Fault, NotFound
from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion, unknown_people
from chamberlain.guests.policies.models import PolicyHead, policy_fault
from chamberlain.templates.models import SettledSecret, StoredTemplate, TemplateHead, TemplateKind, template_fault
from chamberlain.templates.rules import TemplateArea


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    """A template whole: what it says, who made it, and when it was made and changed.

    `secret_number` counts the secrets that its webhook has had, None where it has none. `made_secret` is one that the
    service has just made, for the one answer that shows it. `disabled_reason` says why its webhook is called no more,
    None where nothing is wrong with it.
    """

    stored: StoredTemplate
    created_at: datetime
    created_by: Actor
    updated_at: datetime
    secret_number: int | None = None
    made_secret: str | None = field(default=None, repr=False)
    disabled_reason: str | None = None

    @property
    def etag(self) -> str:
        """Names this version: a revision is never counted twice, and a new secret makes another version too, as does a
        webhook that was disabled."""
        number = "" if self.secret_number is None else f"-{self.secret_number}"
        return f'"{self.stored.head.revision}{number}{"" if self.disabled_reason is None else "-disabled"}"'


@dataclass(frozen=True, slots=True)
class RotatedWebhook:
    """A template whose webhook has got a new secret, in `made_secret`; the one before signs as well until
    `previous_until`, None where there was none."""

    record: TemplateRecord
    previous_until: datetime | None


def in_area(record: TemplateRecord | None, area: TemplateArea) -> TemplateRecord:
    """The template, or NotFound when there is none here: each area knows its own kinds only."""
    if record is None or record.stored.head.kind not in area.kinds:
        raise NotFound("There is no such template here. The list has those that there are.")
    return record


def kind_faults(record: TemplateRecord, kind: TemplateKind) -> Iterator[Fault]:
    """Why a template cannot become one of this kind, if it cannot."""
    current = record.stored.head.kind
    if kind is not current:
        detail = f"This template is of kind {current} and stays so. Make a new one for kind {kind}."
        yield Fault("/kind", "templateOfOtherKind", detail)


def created(head: TemplateHead, content: Content, editor: Editor, secret: SettledSecret) -> Change:
    """The record of a template that was made."""
    shown = _with_secret(content) if secret.is_new else content
    return _change("create", head, editor, before=None, after=_without_id(shown))


def disabled(content: Content, reason: str | None) -> Content:
    """The content as administrators are shown it whose webhook was disabled for a reason; as it is without one."""
    webhook = content.get("webhook")
    if reason is None or not isinstance(webhook, dict):
        return content
    return {**content, "webhook": {**webhook, "active": False, "disabledReason": reason}}


def replaced(head: TemplateHead, before: Content, after: Content, *, editor: Editor, secret: SettledSecret) -> Change:
    """The record of a template that says something else now: what changed, and nothing else."""
    if not secret.has_changed:
        was, became = differences(before, after)
    else:
        # Two secrets look alike here: the webhook is told of even where all else of it stays.
        old = _with_secret(before) if secret.was_there else before
        new = _with_secret(after) if secret.is_new else after
        was, became = differences(old, new, also=("webhook",))
    return _change("replace", head, editor, before=was, after=became)


def default_lost(head: TemplateHead, editor: Editor) -> Change:
    """The record of a mailbox template that is the default of its kind no longer, because another one has become it."""
    return _change("replace", head, editor, before={"isDefault": True}, after={"isDefault": False})


def removed(record: TemplateRecord, content: Content, editor: Editor) -> Change:
    """The record of a template that is gone."""
    shown = content if record.secret_number is None else _with_secret(content)
    return _change("delete", record.stored.head, editor, before=_without_id(shown), after=None)


def secret_rotated(head: TemplateHead, editor: Editor, said: Mapping[str, str], *, was_there: bool) -> Change:
    """The record of a secret that was made in place of the one that `was_there`, if there was one; `said` is what the
    caller said to it."""
    before = {"secret": "***" if was_there else None}
    change = _change("rotate", head, editor, before=before, after={"secret": "***", **said})
    return replace(change, action="webhook.rotate")


def _with_secret(content: Content) -> Content:
    """The content with a sign that its webhook has a secret."""
    webhook = content.get("webhook")
    return content if not isinstance(webhook, dict) else {**content, "webhook": {**webhook, "secret": "***"}}


def _without_id(content: Content) -> Content:
    """The subject of the record names it."""
    return {name: value for name, value in content.items() if name != "id"}


def _change(verb: str, head: TemplateHead, editor: Editor, *, before: Content | None, after: Content | None) -> Change:
    return Change(
        tenant_id=head.tenant_id,
        action=f"template.{verb}",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("template", head.id, head.name),
        before=before,
        after=after,
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


@dataclass(frozen=True, slots=True)
class TemplateReferences:
    """Whom and what a template names: people and groups with the pointers to where, a label, a membership rule, a guest
    template and a guest policy at most."""

    users: tuple[tuple[str, UserId], ...] = ()
    groups: tuple[tuple[str, GroupId], ...] = ()
    label: str | None = None
    membership_rule: str | None = None
    guest_template_id: TemplateId | None = None
    guest_policy_id: PolicyId | None = None


def question_of(references: TemplateReferences, tenant_id: TenantId) -> PeopleQuestion | None:
    """What the directory has to be asked; None when it need not be."""
    question = PeopleQuestion(
        tenant_id,
        users=frozenset(user for _, user in references.users),
        labels=frozenset(() if references.label is None else (references.label,)),
        named_groups=frozenset(group for _, group in references.groups),
        membership_rules=frozenset(() if references.membership_rule is None else (references.membership_rule,)),
    )
    return None if question == PeopleQuestion(tenant_id) else question


def directory_faults(references: TemplateReferences, answer: PeopleAnswer) -> Iterator[Fault]:
    """Users, groups and a label that the directory does not have, and a rule that it cannot follow."""
    yield from unknown_people(references.users, references.groups, answer)
    if references.label is not None and references.label not in answer.labels:
        detail = "This tenant has no such label. Leave it out, or choose a known one."
        yield Fault("/labelId", "labelUnknown", detail)
    rule = references.membership_rule
    if rule is not None and (wrong := answer.rule_faults.get(rule)) is not None:
        yield Fault("/membershipRule", "ruleInvalid", wrong)


def guest_rule_faults(
    references: TemplateReferences, template: TemplateHead | None, policy: PolicyHead | None
) -> Iterator[Fault]:
    """Why the guest template and the guest policy cannot be given to what is made; None where there is none of the
    id."""
    if references.guest_template_id is not None:
        fault = template_fault(template, {TemplateKind.GUEST}, "/guestTemplateId")
        yield from () if fault is None else (fault,)
    if references.guest_policy_id is not None:
        fault = policy_fault(policy, "/guestPolicyId")
        yield from () if fault is None else (fault,)
