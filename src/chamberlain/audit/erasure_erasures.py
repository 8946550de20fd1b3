"""Erasures: what is kept of a user is emptied, and it is kept on record that this was done.

Names and mail addresses go, and with them the whole payload or body in which they may stand anywhere. Ids stay where
the service works with them: they say nothing once the directory has forgotten whom they meant.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.auth.models import Actor
from chamberlain.changes.models import Change, Subject
from chamberlain.core.ids import TenantId, TraceId, UserId
from chamberlain.core.values import Json

# What stands beside the id of somebody, as the API and as rows spell it, and what is there instead.
_NAMES: Mapping[str, str | None] = {"displayName": "", "display_name": "", "mail": None}


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was emptied in one tenant, by how many rows; `bodies_left` are those of requests that have not ended, which
    are needed. `sequences` is the digest of which rows of the audit trail they were."""

    tenant_id: TenantId
    audit_rows: int
    sequences: str
    requests: int
    bodies: int
    bodies_left: int
    mailboxes: int
    events: int
    others: int

    @property
    def rows(self) -> int:
        """How many in all."""
        return self.audit_rows + self.requests + self.bodies + self.mailboxes + self.events + self.others


def erased(erasure: Erasure, user_id: UserId, *, actor: Actor, trace_id: TraceId) -> Change:
    """The record of an erasure. Emptied rows name its trace, and are those of which it has the digest."""
    return Change(
        tenant_id=erasure.tenant_id,
        action="user.erase",
        actor=actor,
        client_id=None,
        subject=Subject("user", user_id, ""),
        before=None,
        after={
            "auditRows": erasure.audit_rows,
            "auditSequences": erasure.sequences,
            "requests": erasure.requests,
            "bodies": erasure.bodies,
            "bodiesLeft": erasure.bodies_left,
            "mailboxes": erasure.mailboxes,
            "events": erasure.events,
            "others": erasure.others,
        },
        request_id=None,
        trace_id=trace_id,
    )


def without_names(value: Json, user_id: UserId) -> Json:
    """A document in which nobody of this id has a name any more."""
    if isinstance(value, list):
        return [without_names(each, user_id) for each in value]
    if not isinstance(value, dict):
        return value
    is_about = str(value.get("id")).lower() == str(user_id)
    return {
        name: _NAMES[name] if is_about and name in _NAMES else without_names(each, user_id)
        for name, each in value.items()
    }
