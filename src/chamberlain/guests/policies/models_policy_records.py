"""Records of guest policies: what administrators read and change, and how a change is kept on record."""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.auth.models import Actor
from chamberlain.auth.models_edits import Editor
from chamberlain.changes.models import Change, Subject
from chamberlain.core.diff import Content, differences
from chamberlain.core.errors import NotFound
from chamberlain.guests.policies.models import PolicyHead, StoredPolicy


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """A policy whole: what it says, who made it, and when it was made and changed."""

    stored: StoredPolicy
    created_at: datetime
    created_by: Actor
    updated_at: datetime

    @property
    def etag(self) -> str:
        """Names this version: a revision is never counted twice."""
        return f'"{self.stored.head.revision}"'


def present(record: PolicyRecord | None) -> PolicyRecord:
    """The policy, or NotFound when there is none."""
    if record is None:
        raise NotFound("There is no such policy. The list has those that there are.")
    return record


def created(head: PolicyHead, content: Content, editor: Editor) -> Change:
    """The record of a policy that was made."""
    return _change("create", head, editor, before=None, after=_without_id(content))


def replaced(head: PolicyHead, before: Content, after: Content, editor: Editor) -> Change:
    """The record of a policy that says something else now: what changed, and nothing else."""
    was, became = differences(before, after)
    return _change("replace", head, editor, before=was, after=became)


def removed(head: PolicyHead, content: Content, editor: Editor) -> Change:
    """The record of a policy that is gone."""
    return _change("delete", head, editor, before=_without_id(content), after=None)


def _without_id(content: Content) -> Content:
    """The subject of the record names it."""
    return {name: value for name, value in content.items() if name != "id"}


def _change(verb: str, head: PolicyHead, editor: Editor, *, before: Content | None, after: Content | None) -> Change:
    return Change(
        tenant_id=head.tenant_id,
        action=f"policy.{verb}",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("policy", head.id, head.name),
        before=before,
        after=after,
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )
