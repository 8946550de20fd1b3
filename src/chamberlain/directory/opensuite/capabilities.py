# SPDX-License-Identifier: Apache-2.0
"""Abilities and limits of an open suite. Pure."""

from datetime import timedelta
from typing import Final

from chamberlain.directory.capabilities import ALL_ABILITIES, Ability, Capabilities, Limits
from chamberlain.directory.opensuite.sogo_cache import CACHED_FOR
from chamberlain.directory.properties import DriftProperty

# None of these servers has labels or sites. They enforce the domains of federated guests, and not those of guests with
# an account here. LDAP has no removed entries to restore; the adapter does not rename or remove objects yet.
_MISSING: Final = frozenset(
    {
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
_OF_TEAMS: Final = frozenset({DriftProperty.GROUP_IS_TEAM, DriftProperty.GROUP_CHANNELS})
_SHORTEST_DELAY: Final = timedelta(seconds=1)
# The longest local part of an address (RFC 5321, 4.5.3.1.1): the name of a mailbox is one.
_LONGEST_NAME: Final = 64
# One search has 100 ids (entries.py), and one call of doveadm the commands of all its mailboxes.
_OBSERVE_BATCH: Final = 100


def suite_capabilities(*, has_teams: bool, forgets_addresses: bool) -> Capabilities:
    """Return the capabilities of a suite.

    `has_teams` is true with Matrix. `forgets_addresses` is true if the service can delete addresses from SOGo's cache:
    without that, a new room answers after five minutes.
    """
    missing = _MISSING if has_teams else _MISSING | {Ability.TEAMS, Ability.LICENSE_CHECK}
    return Capabilities(
        visible_after=_SHORTEST_DELAY if forgets_addresses else CACHED_FOR,
        in_lanes=True,
        abilities=ALL_ABILITIES - missing,
        unheld=_UNHELD if has_teams else _UNHELD | _OF_TEAMS,
        limits=Limits(mailbox_name=_LONGEST_NAME, observe_batch=_OBSERVE_BATCH),
    )
