"""Assign the guest rules of a group template to groups that were just created."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.database.transactions import Transaction
from chamberlain.groups.provision import GuestRuleDraft, ReadyGroup
from chamberlain.guests.assignments import store
from chamberlain.guests.assignments.rules import NewGroup, NewGroupDraft
from chamberlain.guests.models import Assignment
from chamberlain.guests.subjects.models import new_entry


@dataclass(frozen=True, slots=True)
class NewGroupRules:
    """Assign guest rules to created groups, in the transaction that records them."""

    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def draft(self, tx: Transaction, groups: Sequence[ReadyGroup]) -> Sequence[NewGroupDraft]:
        """Decide for each group. The decision stays valid until the transaction ends."""
        now = self.now()
        new = [
            NewGroup(
                new_entry(each.wanted, each.group, at=now),
                Assignment(each.guest_template_id, each.guest_policy_id),
                each.editor,
            )
            for each in groups
        ]
        return await store.draft_new(tx, new, new_id=self.new_id, now=now)

    async def write(self, tx: Transaction, drafts: Sequence[GuestRuleDraft]) -> None:
        """Write drafts. Raises Overtaken if another transaction holds a row that they need."""
        own = [draft.draft for draft in drafts if isinstance(draft, NewGroupDraft)]
        await store.write(tx, [draft for draft in own if draft is not None])
