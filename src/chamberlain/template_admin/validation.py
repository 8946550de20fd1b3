"""What stands against a template that is well-formed: what it says itself, what the directory knows, and what else the
tenant has."""

from chamberlain.core.errors import Fault, TryAgain, Unavailable, first_faults
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.directory.port import People
from chamberlain.guests.policies import records as policy_records
from chamberlain.template_admin.documents import TemplateShape, domain_faults, references_of, template_faults
from chamberlain.template_admin.models import directory_faults, guest_rule_faults, question_of
from chamberlain.templates import records as template_records
from chamberlain.tenants import records as tenant_records


async def faults_in_directory(people: People, tenant_id: TenantId, shape: TemplateShape) -> tuple[Fault, ...]:
    """Whom and what a template names that is not there. No transaction may be open. Raises Unavailable while the
    directory does not answer."""
    references = references_of(shape)
    question = question_of(references, tenant_id)
    if question is None:
        return ()
    try:
        answer = await people.look_up(question)
    except TryAgain as error:
        detail = "The directory cannot be asked whether those whom the template names exist. Send the request again."
        raise Unavailable("overloaded", detail, after=error.after) from error
    return first_faults(directory_faults(references, answer))


async def faults_in_tenant(tx: Transaction, tenant_id: TenantId, shape: TemplateShape) -> tuple[Fault, ...]:
    """What is wrong with a template by itself, and beside the tenant's domains, guest templates and policies."""
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
