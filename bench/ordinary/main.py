# SPDX-License-Identifier: Apache-2.0
"""The one call: ask for a group."""

import re
import unicodedata
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, HTTPException, status
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from bench.ordinary.authentication import Caller, CallerOfRequest
from bench.ordinary.database import SessionOfRequest
from bench.ordinary.models import (
    Address,
    Audit,
    GroupRequest,
    Job,
    Reservation,
    Template,
    TemplateRevision,
    Tenant,
    User,
)
from bench.ordinary.schemas import GroupIn, GroupOut

app = FastAPI()


@app.post("/collab/v1/groups/", status_code=status.HTTP_202_ACCEPTED)
def create_group(group: GroupIn, caller: CallerOfRequest, session: SessionOfRequest) -> GroupOut:
    """Check that it can be made, and queue it."""
    session.execute(
        text("SELECT set_config('chamberlain.tenant_id', :tenant, true)"), {"tenant": str(caller.tenant_id)}
    )
    tenant = session.get_one(Tenant, caller.tenant_id)
    template, revision = find_template(session, group, caller)
    user = find_people(session, group, caller)
    nickname = nickname_of(group.displayName)
    request = GroupRequest(
        request_id=uuid4(),
        tenant_id=tenant.tenant_id,
        kind=template.kind,
        state="queued",
        display_name=group.displayName,
        mail_nickname=nickname,
        address=free_address(session, tenant, nickname),
        template_id=template.template_id,
        template_revision=template.revision,
        template_name=revision.content["name"],
        body=group.model_dump(mode="json", exclude_unset=True),
        approval_required=False,
        people_checked=True,
        steps=[begun(step) for step in ("createGroup", "addOwners", "addMembers")],
        client_id=caller.client_id,
        actor_type="user",
        actor_id=user.id,
        actor_name=user.display_name,
        trace_id=uuid4().hex,
    )
    queue(session, request)
    accepted = GroupOut(requestId=request.request_id, tenantId=request.tenant_id, approvalRequired=False)
    try:
        session.commit()
    except IntegrityError as error:
        raise HTTPException(status.HTTP_409_CONFLICT, "The address is taken.") from error
    return accepted


def find_template(session: Session, group: GroupIn, caller: Caller) -> tuple[Template, TemplateRevision]:
    """The template that was named, which is there, active and of the right kind."""
    template = session.get(Template, (caller.tenant_id, group.templateId))
    if template is None:
        raise HTTPException(status.HTTP_422_UNPROCESSABLE_CONTENT, "The template is unknown.")
    if not template.active or template.kind not in {"group", "team"}:
        raise HTTPException(status.HTTP_422_UNPROCESSABLE_CONTENT, "The template cannot be used.")
    return template, session.get_one(TemplateRevision, (template.tenant_id, template.template_id, template.revision))


def find_people(session: Session, group: GroupIn, caller: Caller) -> User:
    """The caller; everybody who is named exists."""
    wanted = {caller.user_id, *group.owners, *group.members}
    people = select(User).where(User.tenant_id == caller.tenant_id, User.id.in_(wanted))
    found = {user.id: user for user in session.scalars(people)}
    if unknown := wanted - found.keys():
        raise HTTPException(status.HTTP_422_UNPROCESSABLE_CONTENT, [f"{each} is unknown." for each in unknown])
    return found[caller.user_id]


def nickname_of(name: str) -> str:
    """The local part of an address, made of a display name."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._-]", "", re.sub(r"\s+", "-", plain)).strip(".-")


def free_address(session: Session, tenant: Tenant, nickname: str) -> str:
    """Return the address, or refuse it when it is taken."""
    address = f"{nickname}@{tenant.domains[0]}"
    if session.get(Address, (tenant.tenant_id, address)) is not None:
        raise HTTPException(status.HTTP_409_CONFLICT, "The address is taken.")
    return address


def begun(step: str) -> dict[str, Any]:
    """A step to which nothing has been done."""
    times = dict.fromkeys(("started_at", "finished_at", "reason", "next_attempt_at", "error"))
    return {"step": step, "state": "pending", "attempts": 0, **times}


def queue(session: Session, request: GroupRequest) -> None:
    """Add the request with all that belongs to it."""
    same = {"tenant_id": request.tenant_id, "request": request}
    session.add(request)
    session.add(Reservation(kind="address", value=request.address, **same))
    session.add(Job(kind="groupProvision", trace_id=request.trace_id, **same))
    actor = {"type": "user", "id": str(request.actor_id), "displayName": request.actor_name}
    subject = {"type": "request", "id": str(request.request_id), "displayName": request.display_name}
    payload = {
        "actor": actor,
        "client": {"id": request.client_id},
        "subject": subject,
        "before": None,
        "after": request.body,
    }
    session.add(Audit(action="group.create", trace_id=request.trace_id, payload=payload, **same))
