# SPDX-License-Identifier: Apache-2.0
"""Administer templates, and offer them to requesters.

Mailbox templates and templates of groups, teams and guests are two areas. Each has its own kinds and permissions.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from msgspec import json

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Edit, Editor, require_match
from chamberlain.changes.models import Change, announced
from chamberlain.changes.records import record_change
from chamberlain.core.errors import Fault, Forbidden, NotPossible, TryAgain, Unavailable, first_faults
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import EventId, GroupId, TemplateId, TenantId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.core.reasons import Reason
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.capabilities import Capable
from chamberlain.directory.models import Label, PeopleQuestion
from chamberlain.directory.port import People
from chamberlain.events import outbox
from chamberlain.guests.policies import records as policy_records
from chamberlain.guests.policies.models import require_unused
from chamberlain.guests.subjects import records as subject_records
from chamberlain.http import idempotency
from chamberlain.template_admin import records, webhook_state
from chamberlain.template_admin.documents import (
    TemplateBody,
    TemplateShape,
    audience_of,
    capability_faults,
    checked_references,
    domain_faults,
    identified,
    references_of,
    stored_template,
    template_faults,
    webhook_of,
    with_known_label,
)
from chamberlain.template_admin.models import (
    COLLAB,
    LABELS_KNOWN_FOR,
    MAIL,
    MOST_KNOWN,
    MOST_OFFERED,
    MOST_OFFERED_KNOWN,
    OFFERED_KNOWN_FOR,
    OfferedTemplate,
    SettledSecret,
    TemplateArea,
    TemplateRecord,
    created,
    default_lost,
    directory_faults,
    disabled,
    guest_rule_faults,
    in_area,
    in_use,
    kind_faults,
    question_of,
    removed,
    replaced,
    rule_warnings,
)
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.templates import records as template_records
from chamberlain.templates.models import GROUP_KINDS, StoredTemplate, TemplateHead, TemplateKind
from chamberlain.templates.rules import audience_groups, template_not_allowed
from chamberlain.templates.webhook import WebhookBody, kept_webhook
from chamberlain.tenants import records as tenant_records

_OfferedKey: TypeAlias = tuple[TenantId, UUID, TemplateId, frozenset[TemplateKind]]


@dataclass(slots=True)
class TemplateService:
    """List, create, read, replace, delete and offer the templates of a tenant.

    Every method raises Forbidden for callers without the permission of the area, and Unavailable if the directory has
    to answer and does not. `capable` states the capabilities of the directory, `secrets` creates and seals the secrets
    of webhooks.
    """

    database: Database
    authorization: Authorization
    people: People
    capable: Capable
    secrets: WebhookSecrets
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]
    _known_labels: OrderedDict[TenantId, tuple[datetime, tuple[Label, ...]]] = field(default_factory=OrderedDict)
    _known_offered: OrderedDict[_OfferedKey, tuple[datetime, OfferedTemplate]] = field(default_factory=OrderedDict)

    async def list(self, caller: Caller, page: PageWanted, *, area: TemplateArea) -> Page[TemplateRecord]:
        """List the templates of an area, newest first, including inactive ones."""
        await self.authorization.require(caller, area.administer)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await records.find_page(tx, area.kinds, page)

    async def create(
        self,
        caller: Caller,
        body: TemplateBody,
        act: Act,
        render: Callable[[TemplateRecord], bytes],
        *,
        area: TemplateArea,
    ) -> KeptAnswer:
        """Create a template and return its rendering.

        The answer has the new secret of a webhook. The answer that is kept for a repeated key has not. Raises
        NotPossible with all errors.
        """
        await self.authorization.require(caller, area.administer)
        tenant_id, shape = caller.tenant_id, identified(body, TemplateId(self.new_id()))
        checked = await self._in_directory(tenant_id, shape)
        shape = checked.shape
        editor = await self.authorization.editor(caller, act)

        async def work() -> tuple[bytes, bytes]:
            await template_records.lock(tx, tenant_id)
            if faults := (*await _tenant_faults(tx, tenant_id, shape), *checked.faults):
                raise NotPossible(faults)
            template = stored_template(shape, tenant_id)
            if (loser := await template_records.losing_default(tx, template)) is not None:
                await self._record(tx, loser.head, default_lost(loser.head, editor))
            await template_records.put(tx, template, created_by=editor.actor)
            secret = await self.secrets.settle(tx, tenant_id, template.head.id, webhook_of(body))
            change = created(template.head, json.decode(template.content), editor, secret)
            await self._record(tx, template.head, change)
            record = replace(in_area(await records.find(tx, template.head.id), area), warnings=checked.warnings)
            return render(replace(record, made_secret=secret.made)), render(replace(record, made_secret=None))

        async with self.database.transaction(tenant_id) as tx:
            return await idempotency.once_with_secret(tx, caller, act.idempotency, work)

    async def read(self, caller: Caller, template_id: TemplateId, *, area: TemplateArea) -> TemplateRecord:
        """Read a template.

        Raises NotFound, even for a template of another area.
        """
        await self.authorization.require(caller, area.administer)
        async with self.database.transaction(caller.tenant_id) as tx:
            return in_area(await records.find(tx, template_id), area)

    async def replace(
        self, caller: Caller, template_id: TemplateId, body: TemplateBody, edit: Edit, *, area: TemplateArea
    ) -> TemplateRecord:
        """Replace a template and return it.

        The returned template has the new secret of its webhook. Running requests keep the revision that they were made
        with. An identical body is neither written nor audited. Raises NotFound, Stale, and NotPossible with all errors.
        """
        await self.authorization.require(caller, area.administer)
        editor = await self.authorization.editor(caller, edit)
        tenant_id, shape, webhook = caller.tenant_id, identified(body, template_id), webhook_of(body)
        checked = await self._in_directory(tenant_id, shape)
        shape = checked.shape
        async with self.database.transaction(tenant_id) as tx:
            await template_records.lock(tx, tenant_id)
            before = in_area(await records.find(tx, template_id), area)
            require_match(before.etag, edit, "template")
            wrong = (*kind_faults(before, TemplateKind(shape.kind)), *await _tenant_faults(tx, tenant_id, shape))
            if faults := (*wrong, *checked.faults):
                raise NotPossible(faults)
            secret = await self.secrets.settle(tx, tenant_id, template_id, webhook)
            reason = await _enable_webhook(tx, before, webhook)
            after = stored_template(shape, tenant_id)
            await self._write(tx, before.stored, after, editor, secret=secret, disabled_reason=reason)
            if webhook is None or not webhook.active:
                await outbox.cancel_pending(tx, tenant_id, template_id)
            record = in_area(await records.find(tx, template_id), area)
            return replace(record, made_secret=secret.made, warnings=checked.warnings)

    async def delete(self, caller: Caller, template_id: TemplateId, edit: Edit, *, area: TemplateArea) -> None:
        """Delete a template. Running requests continue.

        Raises NotFound, Stale, and Conflict for a guest template that is assigned or that a template names.
        """
        await self.authorization.require(caller, area.administer)
        editor = await self.authorization.editor(caller, edit)
        async with self.database.transaction(caller.tenant_id) as tx:
            await template_records.lock(tx, caller.tenant_id)
            record = in_area(await records.find(tx, template_id), area)
            require_match(record.etag, edit, "template")
            await _require_unused(tx, record.stored.head)
            await outbox.cancel_pending(tx, caller.tenant_id, template_id)
            await template_records.remove(tx, caller.tenant_id, template_id)
            change = removed(record, json.decode(record.stored.content), editor)
            await self._record(tx, record.stored.head, change)

    async def offer(self, caller: Caller, page: PageWanted, *, area: TemplateArea) -> Page[TemplateRecord]:
        """List the active templates that the caller may use.

        Audiences restrict users, not applications.
        """
        await self.authorization.require(caller, area.read)
        member_of = await self._audience_groups(caller, area)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await records.find_offered(tx, area.offered_kinds, page, user=caller.user_id, member_of=member_of)

    async def offer_all(self, caller: Caller) -> Sequence[TemplateRecord]:
        """List all active templates that the caller may use.

        They are those of both areas, up to 1,000. An area that the token does not allow has none. Audiences restrict
        users, not applications.
        """
        kinds = [kind for area in (MAIL, COLLAB) if await self._allows(caller, area) for kind in area.offered_kinds]
        if not kinds:
            return ()
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await records.find_active(tx, kinds, MOST_OFFERED)
        if (user := caller.user_id) is None:
            return found
        audiences = [(each, audience_of(each.stored)) for each in found]
        groups = frozenset(group for _, audience in audiences for group in audience_groups(audience, user))
        member_of = await self._member_of(caller, groups)
        return [each for each, audience in audiences if template_not_allowed(audience, user, member_of) is None]

    async def read_offered(self, caller: Caller, template_id: TemplateId, *, area: TemplateArea) -> OfferedTemplate:
        """Read an active template, with all that a form needs.

        Raises NotFound, and Forbidden if the audience excludes the user. Audiences do not restrict applications.
        """
        await self.authorization.require(caller, area.read)
        async with self.database.transaction(caller.tenant_id) as tx:
            stored = in_use(await records.find(tx, template_id), area).stored
            tenant = await tenant_records.find(tx, caller.tenant_id)
        await self._require_audience(caller, stored)
        domains = () if tenant is None else tenant.domains
        # Mailboxes have no labels.
        labels = await self._labels(caller.tenant_id) if stored.head.kind in GROUP_KINDS else ()
        return OfferedTemplate(stored, domains, labels)

    async def read_offered_recently(
        self, caller: Caller, template_id: TemplateId, *, area: TemplateArea
    ) -> OfferedTemplate:
        """Read an active template for a preview, at most a minute old.

        The dry run of the preview reads the current one. Raises like `read_offered`.
        """
        now, key = self.now(), (caller.tenant_id, caller.id, template_id, area.kinds)
        until, offered = self._known_offered.get(key, (now, None))
        if offered is not None and until > now:
            await self.authorization.require(caller, area.read)
            return offered
        offered = await self.read_offered(caller, template_id, area=area)
        if offered.labels is None:
            # The directory may answer the next preview.
            return offered
        self._known_offered[key] = (now + OFFERED_KNOWN_FOR, offered)
        self._known_offered.move_to_end(key)
        if len(self._known_offered) > MOST_OFFERED_KNOWN:
            self._known_offered.popitem(last=False)
        return offered

    async def _write(
        self,
        tx: Transaction,
        before: StoredTemplate,
        after: StoredTemplate,
        editor: Editor,
        *,
        secret: SettledSecret,
        disabled_reason: str | None,
    ) -> None:
        loser = await template_records.losing_default(tx, after)
        is_new = await template_records.put(tx, after, created_by=editor.actor)
        if not is_new and not secret.has_changed and disabled_reason is None:
            return
        if loser is not None:
            await self._record(tx, loser.head, default_lost(loser.head, editor))
        was, becomes = disabled(json.decode(before.content), disabled_reason), json.decode(after.content)
        await self._record(tx, after.head, replaced(after.head, was, becomes, editor=editor, secret=secret))

    async def _record(self, tx: Transaction, head: TemplateHead, change: Change) -> None:
        """Record the change of a template with its event."""
        await record_change(tx, announced(change, EventId(self.new_id()), now=self.now(), kind=head.kind))

    async def _in_directory(self, tenant_id: TenantId, shape: TemplateShape) -> "_Checked":
        """Validate a template by the capabilities and the content of the directory.

        No transaction may be open.
        """
        capabilities = await self.capable.capabilities(tenant_id)
        impossible = first_faults(capability_faults(shape, capabilities))
        references = checked_references(shape, capabilities)
        question = question_of(references, tenant_id)
        if question is None:
            return _Checked(shape, impossible)
        try:
            answer = await self.people.look_up(question)
        except TryAgain as error:
            detail = "The directory is unavailable, so the users of the template cannot be checked. Send it again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        if faults := first_faults(impossible, directory_faults(references, answer)):
            return _Checked(shape, faults)
        return _Checked(with_known_label(shape, answer.labels), (), rule_warnings(references, answer))

    async def _allows(self, caller: Caller, area: TemplateArea) -> bool:
        try:
            await self.authorization.require(caller, area.read)
        except Forbidden:
            return False
        return True

    async def _audience_groups(self, caller: Caller, area: TemplateArea) -> frozenset[GroupId]:
        """Find the audience groups of the caller, including nested ones."""
        if caller.user_id is None:
            return frozenset()
        async with self.database.transaction(caller.tenant_id) as tx:
            groups = await records.audience_groups(tx, area.offered_kinds)
        return await self._member_of(caller, groups)

    async def _require_audience(self, caller: Caller, stored: StoredTemplate) -> None:
        if (user := caller.user_id) is None:
            return
        audience = audience_of(stored)
        member_of = await self._member_of(caller, audience_groups(audience, user))
        if (refusal := template_not_allowed(audience, user, member_of)) is not None:
            raise refusal

    async def _member_of(self, caller: Caller, groups: frozenset[GroupId]) -> frozenset[GroupId]:
        """Return the groups among these that the caller is in. Raises Unavailable."""
        if not groups:
            return groups
        try:
            answer = await self.people.look_up(PeopleQuestion(caller.tenant_id, member=caller.user_id, groups=groups))
        except TryAgain as error:
            detail = "The directory is unavailable, so your templates cannot be found. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        return answer.member_of

    async def _labels(self, tenant_id: TenantId) -> tuple[Label, ...] | None:
        """List the labels, up to a minute old.

        Returns None if the directory does not answer.
        """
        now = self.now()
        until, labels = self._known_labels.get(tenant_id, (now, ()))
        if until > now:
            return labels
        try:
            labels = tuple(await self.people.labels(tenant_id))
        except TryAgain:
            return None
        self._known_labels[tenant_id] = (now + LABELS_KNOWN_FOR, labels)
        if len(self._known_labels) > MOST_KNOWN:
            self._known_labels.popitem(last=False)
        return labels


@dataclass(frozen=True, slots=True)
class _Checked:
    """A validated template, with the directory's id of its label."""

    shape: TemplateShape
    faults: tuple[Fault, ...]
    warnings: tuple[Reason, ...] = ()


async def _tenant_faults(tx: Transaction, tenant_id: TenantId, shape: TemplateShape) -> tuple[Fault, ...]:
    """Validate a template by itself and by its tenant.

    The tenant has domains, guest templates and policies.
    """
    tenant = await tenant_records.find(tx, tenant_id)
    references = references_of(shape)
    template, policy = None, None
    if references.guest_template_id is not None:
        template = await template_records.find(tx, references.guest_template_id)
    if references.guest_policy_id is not None:
        policy = await policy_records.find(tx, tenant_id, references.guest_policy_id)
    return first_faults(
        template_faults(shape),
        domain_faults(shape, () if tenant is None else tenant.domains),
        guest_rule_faults(
            references,
            None if template is None else template.head,
            None if policy is None else policy.stored.head,
        ),
    )


async def _enable_webhook(tx: Transaction, before: TemplateRecord, webhook: WebhookBody | None) -> str | None:
    """Enable a disabled webhook that is replaced by an active one.

    Returns the reason why it was disabled, if it was. A removed webhook, or a new address, resets the failure state.
    """
    if webhook is not None and not webhook.active:
        return None
    was = kept_webhook(before.stored.content)
    if before.disabled_reason is None and webhook is not None and was is not None and was.url == webhook.url:
        return None
    await webhook_state.enable(tx, before.stored.head.tenant_id, before.stored.head.id)
    return before.disabled_reason


async def _require_unused(tx: Transaction, head: TemplateHead) -> None:
    if head.kind is not TemplateKind.GUEST:
        return
    naming = await template_records.find_naming(tx, head.tenant_id, guest_template_id=head.id)
    require_unused(
        "guest template",
        is_assigned=await subject_records.is_assigned(tx, head.tenant_id, template_id=head.id),
        named_by=None if naming is None else naming.head,
    )
