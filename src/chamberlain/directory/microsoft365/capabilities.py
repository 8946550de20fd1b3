# SPDX-License-Identifier: Apache-2.0
"""Abilities and limits of Microsoft 365 by Graph. Pure."""

from datetime import timedelta
from typing import Final

from chamberlain.directory.capabilities import ALL_ABILITIES, SETTLES_LATE, Ability, Capabilities, Limits
from chamberlain.directory.properties import DriftProperty

# Mailboxes are no part of Graph. An application may not set labels (Microsoft, July 2026), and the adapter does not do
# so for a user yet. A group has no domains of guests. The sharing of a site is not a part of Graph. The adapter does
# not remove or rename objects yet.
_MISSING: Final = frozenset(
    {
        Ability.MAILBOXES,
        Ability.LABELS,
        Ability.SITES,
        Ability.GUEST_DOMAINS,
        Ability.SOFT_DELETE,
        Ability.RESTORE,
        Ability.RENAME,
        Ability.CHANGE_ADDRESS,
    }
)
_UNHELD: Final = frozenset({DriftProperty.GROUP_LABEL, DriftProperty.ASSIGNMENT_SHARING})
# A group has one switch for guests. Nothing says who may add them, or of which domains.
_UNREADABLE: Final = frozenset(
    {
        DriftProperty.ASSIGNMENT_ADDED_BY,
        DriftProperty.ASSIGNMENT_ALLOWED_DOMAINS,
        DriftProperty.ASSIGNMENT_BLOCKED_DOMAINS,
    }
)
# "Maximum length is 256 characters" (resources/group.md).
_LONGEST_NAME: Final = 256
# Five batches of 20 groups.
_OBSERVE_BATCH: Final = 100
# The index of filters, which clients ask for a request id, usually has a new group within a minute.
_VISIBLE_AFTER: Final = timedelta(minutes=1)

CAPABILITIES: Final = Capabilities(
    visible_after=_VISIBLE_AFTER,
    trusts_writes=True,
    in_lanes=True,
    abilities=ALL_ABILITIES - _MISSING,
    unheld=_UNHELD,
    unreadable=_UNREADABLE,
    limits=Limits(display_name=_LONGEST_NAME, observe_batch=_OBSERVE_BATCH),
    settles_after=SETTLES_LATE,
)
