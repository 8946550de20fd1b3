"""Guests: what a group or site lets them do, and who of them is against it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chamberlain.core.ids import UserId


class AddedBy(StrEnum):
    """Who may add guests."""

    MEMBERS = "members"
    OWNERS = "owners"
    ADMINISTRATORS = "administrators"


class Sharing(StrEnum):
    """With whom what lies on a site may be shared, from nobody outside to anyone with the link."""

    DISABLED = "disabled"
    EXISTING_GUESTS = "existingGuests"
    NEW_AND_EXISTING_GUESTS = "newAndExistingGuests"
    ANYONE = "anyone"


class PresentGuests(StrEnum):
    """What becomes of guests who are there already when a rule is assigned that they are against."""

    KEEP = "keep"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class GuestRules:
    """What guests may do. No allowed domains are all domains but the blocked ones. `sharing` is of sites; a group that
    has none shows None there, and what is wanted of its sharing has no effect."""

    allowed: bool
    added_by: AddedBy
    allowed_domains: tuple[str, ...]
    blocked_domains: tuple[str, ...]
    sharing: Sharing | None


@dataclass(frozen=True, slots=True)
class Guest:
    """Somebody of another organisation who is in a group. `last_seen_at` is when they were last active, None where the
    directory does not know."""

    id: UserId
    mail: str | None
    display_name: str
    last_seen_at: datetime | None = None


def is_against(guest: Guest, rules: GuestRules) -> str | None:
    """Why a guest who is there is against the rules, as a sentence; None when nothing is against it.

    Domains are compared whole and without regard to letter case; a domain below an allowed or blocked one is another.
    """
    if not rules.allowed:
        return f"{guest.display_name} is a guest, and guests are not allowed here."
    domain = domain_of(guest)
    if rules.allowed_domains and domain not in {normalised(one) for one in rules.allowed_domains}:
        where = "has no address" if domain is None else f"is of {domain}"
        return f"{guest.display_name} {where}, and only guests of {', '.join(rules.allowed_domains)} are allowed here."
    if domain in {normalised(one) for one in rules.blocked_domains}:
        return f"{guest.display_name} is of {domain}, and guests of that domain are not allowed here."
    return None


def domain_of(guest: Guest) -> str | None:
    """The domain of a guest's address, as domains are compared; None without an address."""
    return None if guest.mail is None else normalised(guest.mail.rpartition("@")[2])


def normalised(domain: str) -> str:
    """A domain as domains are compared."""
    return domain.strip().rstrip(".").lower()
