# SPDX-License-Identifier: Apache-2.0
"""Templates in administration: areas, webhook secrets, and audit rows of changes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum, auto

from chamberlain.auth.models import Actor, Editor
from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import Change, Content, Subject, differences
from chamberlain.core.errors import Fault, NotFound
from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, known_label, unknown_people
from chamberlain.guests.policies.models import PolicyHead, policy_fault
from chamberlain.templates.models import (
    GROUP_KINDS,
    MAILBOX_KINDS,
    StoredTemplate,
    TemplateHead,
    TemplateKind,
)
from chamberlain.templates.rules import template_fault


@dataclass(frozen=True, slots=True)
class TemplateArea:
    """The kinds of an area, the offered kinds, and their permissions."""

    kinds: frozenset[TemplateKind]
    administer: Operation
    offered_kinds: frozenset[TemplateKind]
    read: Operation


MAIL = TemplateArea(MAILBOX_KINDS, Operation.ADMINISTER_MAIL, MAILBOX_KINDS, Operation.READ_MAILBOX_TEMPLATES)
# Guest templates are assigned by administrators and are not offered.
COLLAB = TemplateArea(
    GROUP_KINDS | {TemplateKind.GUEST},
    Operation.ADMINISTER_COLLAB,
    GROUP_KINDS,
    Operation.READ_COLLAB_TEMPLATES,
)


# Templates on one page of all that a user may use. Our choice: a tenant has 10 to 200, and each has a few kilobytes.
MOST_OFFERED = 1_000
# Labels of a tenant change about once a year, and each form needs them.
LABELS_KNOWN_FOR = timedelta(seconds=60)
# Tenants whose labels are in memory.
MOST_KNOWN = 10_000
# A preview follows the typing, and its form is the one that the user has just opened.
OFFERED_KNOWN_FOR = timedelta(seconds=60)
MOST_OFFERED_KNOWN = 1_000
# The previous secret also signs for this time (docs/reference/webhooks.md).
OVERLAP = timedelta(hours=24)


class SecretFate(Enum):
    """The effect of a template change on the secret of its webhook."""

    ABSENT = auto()
    KEPT = auto()
    GIVEN = auto()
    MADE = auto()
    REMOVED = auto()


@dataclass(frozen=True, slots=True)
class SettledSecret:
    """A secret after a template change.

    `was_there` says whether there was one before. `made` is a secret of the service; only one answer contains it.
    """

    fate: SecretFate
    was_there: bool
    made: str | None = field(default=None, repr=False)

    @property
    def is_new(self) -> bool:
        """Return whether there is a new secret."""
        return self.fate in {SecretFate.GIVEN, SecretFate.MADE}

    @property
    def has_changed(self) -> bool:
        """Return whether the secret is new or removed."""
        return self.is_new or self.fate is SecretFate.REMOVED


def fate_of(*, has_webhook: bool, sent: str | None, present: str | None) -> SecretFate:
    """Decide by the sent and the present secret."""
    if not has_webhook:
        return SecretFate.ABSENT if present is None else SecretFate.REMOVED
    if sent is not None:
        return SecretFate.KEPT if sent == present else SecretFate.GIVEN
    return SecretFate.MADE if present is None else SecretFate.KEPT


@dataclass(frozen=True, slots=True)
class SigningSecrets:
    """The secrets that sign a call, newest first.

    The previous one is included during the overlap. There are none if the keys can decrypt none.
    """

    values: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class RotatedSecret:
    """A new secret.

    The previous one also signs until `previous_until`; None without a previous one.
    """

    made: str = field(repr=False)
    previous_until: datetime | None


def overlap_end(now: datetime) -> datetime:
    """Return the end of the overlap for a replaced secret."""
    return now + OVERLAP


def no_webhook() -> NotFound:
    """Return the error for a template without a webhook."""
    return NotFound("This template has no webhook. Give it one first, by a PUT of the template.")


# The template that a webhook belongs to.
WebhookKey = tuple[TenantId, TemplateId]


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    """A template with its creator and times.

    The times are of its creation and last change. `secret_number` counts the secrets that its webhook has had; None
    without a secret. `made_secret` is a secret that the service has just created: only one answer contains it.
    `disabled_reason` is None unless the service has disabled the webhook. `warnings` are those of the change that wrote
    it, in its answer only.
    """

    stored: StoredTemplate
    created_at: datetime
    created_by: Actor
    updated_at: datetime
    secret_number: int | None = None
    made_secret: str | None = field(default=None, repr=False)
    disabled_reason: str | None = None
    warnings: tuple[Reason, ...] = ()

    @property
    def etag(self) -> str:
        """Return the ETag.

        It has the revision, the number of the secret, and whether the webhook is disabled.
        """
        number = "" if self.secret_number is None else f"-{self.secret_number}"
        return f'"{self.stored.head.revision}{number}{"" if self.disabled_reason is None else "-disabled"}"'


@dataclass(frozen=True, slots=True)
class RotatedWebhook:
    """A template with a new secret in `made_secret`.

    The previous secret also signs until `previous_until`; None without a previous one.
    """

    record: TemplateRecord
    previous_until: datetime | None


@dataclass(frozen=True, slots=True)
class OfferedTemplate:
    """A template for a requester, with the choices of the tenant.

    The first domain is the default of the tenant. `labels` are those of the directory, for groups and teams; None if
    the directory does not answer.
    """

    stored: StoredTemplate
    domains: tuple[str, ...]
    labels: tuple[Label, ...] | None = ()


def in_area(record: TemplateRecord | None, area: TemplateArea) -> TemplateRecord:
    """Return the template. Raises NotFound outside of this area."""
    if record is None or record.stored.head.kind not in area.kinds:
        raise NotFound("There is no such template here. List the templates to see those that exist.")
    return record


def in_use(record: TemplateRecord | None, area: TemplateArea) -> TemplateRecord:
    """Return an active template that requests may name. Raises NotFound."""
    if record is None or record.stored.head.kind not in area.offered_kinds or not record.stored.head.active:
        raise NotFound("There is no such template for requests. List the templates to see those that you may use.")
    return record


def kind_faults(record: TemplateRecord, kind: TemplateKind) -> Iterator[Fault]:
    """Validate that a template keeps its kind."""
    current = record.stored.head.kind
    if kind is not current:
        sentence = "The kind of this template is {kind} and cannot change. Create a new template of kind {wanted}."
        yield Fault.build("/kind", "templateOfOtherKind", sentence, kind=str(current), wanted=str(kind))


def created(head: TemplateHead, content: Content, editor: Editor, secret: SettledSecret) -> Change:
    """Return the audit row of a new template."""
    shown = _with_secret(content) if secret.is_new else content
    return _change("create", head, editor, before=None, after=_without_id(shown))


def replaced(head: TemplateHead, before: Content, after: Content, *, editor: Editor, secret: SettledSecret) -> Change:
    """Return the audit row of a replaced template.

    It has only the changed properties.
    """
    if not secret.has_changed:
        was, became = differences(before, after)
    else:
        # Masked secrets are equal, so the diff must include the webhook.
        old = _with_secret(before) if secret.was_there else before
        new = _with_secret(after) if secret.is_new else after
        was, became = differences(old, new, also=("webhook",))
    return _change("replace", head, editor, before=was, after=became)


def disabled(content: Content, reason: str | None) -> Content:
    """Return the content with the webhook disabled, if there is a reason."""
    webhook = content.get("webhook")
    if reason is None or not isinstance(webhook, dict):
        return content
    return {**content, "webhook": {**webhook, "active": False, "disabledReason": reason}}


def default_lost(head: TemplateHead, editor: Editor) -> Change:
    """Return the audit row of a mailbox template's lost default.

    Another template replaced it as default.
    """
    return _change("replace", head, editor, before={"isDefault": True}, after={"isDefault": False})


def removed(record: TemplateRecord, content: Content, editor: Editor) -> Change:
    """Return the audit row of a deleted template."""
    shown = content if record.secret_number is None else _with_secret(content)
    return _change("delete", record.stored.head, editor, before=_without_id(shown), after=None)


def secret_rotated(head: TemplateHead, editor: Editor, said: Mapping[str, str], *, was_there: bool) -> Change:
    """Return the audit row of a rotated secret.

    `said` has the comment of the caller.
    """
    before = {"secret": "***" if was_there else None}
    change = _change("rotate", head, editor, before=before, after={"secret": "***", **said})
    return replace(change, action="webhook.rotate")


def _with_secret(content: Content) -> Content:
    """Return the content with a masked secret."""
    webhook = content.get("webhook")
    return content if not isinstance(webhook, dict) else {**content, "webhook": {**webhook, "secret": "***"}}


def _without_id(content: Content) -> Content:
    """Return the content without the id.

    The id is the subject of the audit row.
    """
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
    """The references of a template.

    Users and groups have the pointers of their places.
    """

    users: tuple[tuple[str, UserId], ...] = ()
    groups: tuple[tuple[str, GroupId], ...] = ()
    label: str | None = None
    membership_rule: str | None = None
    guest_template_id: TemplateId | None = None
    guest_policy_id: PolicyId | None = None


def question_of(references: TemplateReferences, tenant_id: TenantId) -> PeopleQuestion | None:
    """Return the lookup that validates the references.

    Returns None if the directory is not needed.
    """
    question = PeopleQuestion(
        tenant_id,
        users=frozenset(user for _, user in references.users),
        labels=frozenset(() if references.label is None else (references.label,)),
        named_groups=frozenset(group for _, group in references.groups),
        membership_rules=frozenset(() if references.membership_rule is None else (references.membership_rule,)),
    )
    return None if question == PeopleQuestion(tenant_id) else question


def directory_faults(references: TemplateReferences, answer: PeopleAnswer) -> Iterator[Fault]:
    """Validate users, groups, label and membership rule with the directory."""
    yield from unknown_people(references.users, references.groups, answer)
    if references.label is not None and known_label(references.label, answer.labels) is None:
        sentence = "This tenant has no such label. Leave it out, or choose a known one."
        yield Fault.build("/labelId", "labelUnknown", sentence)
    rule = references.membership_rule
    if rule is not None and (wrong := answer.rule_faults.get(rule)) is not None:
        # The sentence of the directory.
        yield Fault.build("/membershipRule", "ruleInvalid", "{problem}", problem=wrong)


def rule_warnings(references: TemplateReferences, answer: PeopleAnswer) -> tuple[Reason, ...]:
    """Return the warning about a membership rule that the directory cannot check."""
    return (Reason.build("membershipRuleNotChecked"),) if references.membership_rule in answer.unchecked_rules else ()


def guest_rule_faults(
    references: TemplateReferences, template: TemplateHead | None, policy: PolicyHead | None
) -> Iterator[Fault]:
    """Validate the guest template and the guest policy that a template names.

    They are None if there are none with these ids.
    """
    if references.guest_template_id is not None:
        fault = template_fault(template, {TemplateKind.GUEST}, "/guestTemplateId")
        yield from () if fault is None else (fault,)
    if references.guest_policy_id is not None:
        fault = policy_fault(policy, "/guestPolicyId")
        yield from () if fault is None else (fault,)
