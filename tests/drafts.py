# SPDX-License-Identifier: Apache-2.0
"""Drafts of requests, as they are written."""

from uuid import uuid4

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Change, Subject
from chamberlain.core.idempotency import IdempotencyKey
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.directory.models import MailAddress
from chamberlain.directory.steps import Step
from chamberlain.queue.models import JobKind
from chamberlain.requests.models import Draft, RequestKind, RequestState, begin_steps
from tests.estates import ADA, CLIENT, ESTATE, OTHER_GROUP, PROJECT_GROUP, TRACE

BODY = b'{"displayName": "Apollo"}'


def draft(
    name: str = "apollo",
    *,
    second: bool = False,
    key: str | None = None,
    digest: bytes = b"same",
    tenant: TenantId = ESTATE,
    ask_addresses: bool = False,
) -> Draft:
    """A right draft for a group at `name`@; with `second`, another address would do as well, and with `ask_addresses`
    the write asks the directory for it."""
    request_id = RequestId(uuid4())
    nicknames = [name, f"{name}-{str(request_id)[:8]}"] if second else [name]
    return Draft(
        request_id=request_id,
        tenant_revision=1,
        kind=RequestKind.GROUP,
        state=RequestState.QUEUED,
        display_name=name,
        addresses=tuple(MailAddress(each, f"{each}@estate.example") for each in nicknames),
        template_id=PROJECT_GROUP if tenant == ESTATE else OTHER_GROUP,
        template_revision=1,
        template_name="Project group",
        body=BODY,
        approval_required=False,
        people_checked=True,
        steps=begin_steps((Step.CREATE_GROUP,)),
        idempotency=None if key is None else IdempotencyKey(key, digest),
        job=JobKind.GROUP_PROVISION,
        change=Change(
            tenant_id=tenant,
            action="group.create",
            actor=Actor(ActorType.USER, ADA, "Ada Achterberg"),
            client_id=CLIENT,
            subject=Subject("request", request_id, name),
            before=None,
            after={"displayName": name},
            request_id=request_id,
            trace_id=TRACE,
        ),
        approvals=(),
        warnings=(),
        mailbox=None,
        ask_addresses=ask_addresses,
    )
