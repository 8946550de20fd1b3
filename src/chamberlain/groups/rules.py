"""Drafts of group requests: all that is written, or that a dry run shows, of an order that was found right."""

from chamberlain.auth.models import Caller
from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import RequestId, UserId
from chamberlain.core.values import value
from chamberlain.directory.groups import WantedGroup
from chamberlain.directory.models import PeopleAnswer
from chamberlain.groups.models import GroupOrder, wanted_group
from chamberlain.groups.models_plans import plan_order
from chamberlain.groups.names import GroupNames
from chamberlain.requests.models_approvals import ApprovalRule
from chamberlain.requests.models_submissions import Draft
from chamberlain.templates.drafts import Moment, draft_from
from chamberlain.templates.models import CompiledGroupTemplate, GroupTemplate, TemplateHead
from chamberlain.tenants.models import Tenant


@value(frozen=True, slots=True)
class Situation:
    """What one order is checked against: who asks for what, and the template and tenant as they are known. With
    `ask_addresses` it is the write that asks the directory for addresses."""

    caller: Caller
    user: UserId
    order: GroupOrder
    request_id: RequestId
    tenant: Tenant
    compiled: CompiledGroupTemplate
    ask_addresses: bool

    @property
    def template(self) -> GroupTemplate:
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
        return self.compiled.template.head.kind


def wanted_in(situation: Situation, names: GroupNames) -> WantedGroup:
    """The group that comes of it, at the first of its addresses."""
    return wanted_group(
        situation.order,
        situation.template,
        request_id=situation.request_id,
        caller=situation.user,
        display_name=names.display_name,
        address=names.addresses[0],
        prefix=situation.tenant.extension_prefix,
    )


def draft_of(
    situation: Situation,
    submission: Submission,
    names: GroupNames,
    answer: PeopleAnswer | None,
    *,
    moment: Moment | None,
) -> Draft:
    """The request as it is to be written. `answer` is None when the directory gave none: then people are checked
    later."""
    return draft_from(
        situation,
        submission,
        answer,
        moment=moment,
        display_name=names.display_name,
        addresses=names.addresses,
        steps=plan_order(situation.order, situation.template, situation.user, people_checked=answer is not None),
    )
