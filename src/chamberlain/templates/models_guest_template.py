"""Guest templates: predefined rules for guests."""

from dataclasses import dataclass

from chamberlain.directory.subjects_guests import GuestRules, PresentGuests


@dataclass(frozen=True, slots=True)
class GuestTemplate:
    """What a guest template says: the rules, and what becomes of guests who are there against them."""

    name: str
    rules: GuestRules
    present_guests: PresentGuests
