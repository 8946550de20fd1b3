# SPDX-License-Identifier: Apache-2.0
"""Rules for guests as the entry of a group stores them. Pure.

The value is JSON with sorted members, so that equal rules are equal values.
"""

from dataclasses import replace
from typing import Final

import msgspec

from chamberlain.directory.subjects import AddedBy, GuestRules, normalised

# Settings of a group whose rules are set in part: users of the directory may add guests of all domains.
DEFAULT_RULES: Final = GuestRules(
    allowed=True, added_by=AddedBy.MEMBERS, allowed_domains=(), blocked_domains=(), sharing=None
)


class _Stored(msgspec.Struct, frozen=True, rename="camel"):
    allowed: bool
    added_by: AddedBy
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()


_decode = msgspec.json.Decoder(_Stored).decode


def stored_rules(text: str | None) -> GuestRules | None:
    """Parse the stored rules.

    None without any, and for text that another program wrote.
    """
    if text is None:
        return None
    try:
        found = _decode(text)
    except msgspec.MsgspecError:
        return None
    return GuestRules(
        allowed=found.allowed,
        added_by=found.added_by,
        allowed_domains=found.allowed_domains,
        blocked_domains=found.blocked_domains,
        sharing=None,
    )


def written_rules(rules: GuestRules | None) -> list[str]:
    """Return the values of the attribute for rules."""
    if rules is None:
        return []
    stored = _Stored(rules.allowed, rules.added_by, rules.allowed_domains, rules.blocked_domains)
    return [msgspec.json.encode(stored, order="sorted").decode()]


def with_access(present: GuestRules | None, wanted: GuestRules | None) -> GuestRules | None:
    """Return the rules after the access was set. Domains stay."""
    if wanted is None:
        return None
    return replace(present or DEFAULT_RULES, allowed=wanted.allowed, added_by=wanted.added_by)


def with_domains(present: GuestRules | None, wanted: GuestRules | None) -> GuestRules | None:
    """Return the rules after the domains were set. The access stays."""
    if wanted is None:
        return None
    return replace(
        present or DEFAULT_RULES, allowed_domains=wanted.allowed_domains, blocked_domains=wanted.blocked_domains
    )


def names_domains(rules: GuestRules | None) -> bool:
    """Return whether rules restrict the domains that guests may come from."""
    return rules is not None and any(map(normalised, (*rules.allowed_domains, *rules.blocked_domains)))
