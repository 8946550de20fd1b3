"""Drafts of group requests: all that is written, or that a dry run shows, of an order that was found right."""

from chamberlain.rules.approvals import ApprovalRule
from chamberlain.rules.callers import Caller
from chamberlain.rules.directory_groups import WantedGroup
from chamberlain.rules.drafts import Moment, draft_from
from chamberlain.rules.group_names import GroupNames
from chamberlain.rules.groups import GroupOrder, wanted_group
from chamberlain.rules.idempotency import Submission
from chamberlain.rules.ids import RequestId, UserId
from chamberlain.rules.people import PeopleAnswer
from chamberlain.rules.plans import plan_order
from chamberlain.rules.submissions import Draft
from chamberlain.rules.templates import CompiledGroupTemplate, GroupTemplate, TemplateHead
from chamberlain.rules.tenants import Tenant
from chamberlain.rules.values import value


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
