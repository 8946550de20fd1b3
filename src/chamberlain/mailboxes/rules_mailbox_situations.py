"""The situation of an order for a mailbox: everything that it is checked against and made from."""

from chamberlain.auth.models import Caller
from chamberlain.core.ids import RequestId, UserId
from chamberlain.core.values import value
from chamberlain.directory.mailboxes import MailboxOrder, MailboxType, TemplateSource
from chamberlain.mailboxes.names import domain_of
from chamberlain.requests.models_approvals import ApprovalRule
from chamberlain.templates.models import TemplateHead
from chamberlain.templates.models_mailbox_templates import CompiledMailboxTemplate, MailboxTemplate, completed
from chamberlain.tenants.models import Tenant


@value(frozen=True, slots=True)
class MailboxSituation:
    """Who asks for what, and the template and tenant as they are known.

    `sent` is what the caller sent, which faults point into; `order` is the same with the template's defaults, which is
    what the mailbox becomes. With `ask_addresses` it is the write that asks the directory for addresses.
    """

    caller: Caller
    sent: MailboxOrder
    order: MailboxOrder
    request_id: RequestId
    tenant: Tenant
    compiled: CompiledMailboxTemplate
    source: TemplateSource
    ask_addresses: bool

    @property
    def template(self) -> MailboxTemplate:
        """The template itself."""
        return self.compiled.template

    @property
    def head(self) -> TemplateHead:
        """What every template has."""
        return self.compiled.template.head

    @property
    def approval(self) -> ApprovalRule | None:
        """Who has to agree."""
        return self.compiled.template.approval

    @property
    def noun(self) -> str:
        """What the audit trail calls it."""
        return "mailbox"

    @property
    def type(self) -> MailboxType:
        """What the template makes."""
        return self.compiled.template.type

    @property
    def domain(self) -> str:
        """Where the address is made."""
        return domain_of(self.order, self.compiled.template, self.tenant)

    @property
    def requester(self) -> UserId:
        """Who asks, as approvals know them; the id of an application is no user's, so that it stands in nobody's
        way."""
        return UserId(self.caller.id)


def situation_of(
    caller: Caller,
    sent: MailboxOrder,
    *,
    request_id: RequestId,
    tenant: Tenant,
    compiled: CompiledMailboxTemplate,
    ask_addresses: bool = False,
) -> MailboxSituation:
    """The situation of an order whose template was found."""
    return MailboxSituation(
        caller=caller,
        sent=sent,
        order=completed(sent, compiled.template),
        request_id=request_id,
        tenant=tenant,
        compiled=compiled,
        source=TemplateSource.DEFAULT if sent.template_id is None else TemplateSource.REQUEST,
        ask_addresses=ask_addresses,
    )
