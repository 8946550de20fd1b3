# SPDX-License-Identifier: Apache-2.0
"""Guest rules of a group and a site."""

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.guests import GuestEntry, Guests, GuestSettings, SubjectName
from tests.embedded.directory.sample_data import HANDBOOK, HOUSE, STAFF

TEMPLATE = "7E000000-0000-4000-8000-000000000021"
POLICY = "90110000-0000-4000-8000-000000000001"
SETTINGS = GuestSettings(
    allow_to_add_guests=False,
    guests_added_by="owners",
    allowed_guest_domains=("partner.example", "friend.example"),
    blocked_guest_domains=(),
)


async def set_guest_rules(pool: Pool) -> None:
    """Set marks and settings of a group and a site."""
    entries = [
        GuestEntry(
            name=SubjectName(HOUSE, group_id, "house_group"),
            values={"templateId": TEMPLATE, "policyId": POLICY},
            sets_access=True,
            sets_domains=True,
            sets_sharing=True,
            settings=SETTINGS,
            sharing_capability="existingExternalUserSharingOnly",
        )
        for group_id in (STAFF, HANDBOOK)
    ]
    assert [one.fault for one in await Guests(pool).ensure(entries)] == [None, None]


async def clear(pool: Pool) -> None:
    """Remove them again."""
    entries = [
        GuestEntry(
            name=SubjectName(HOUSE, group_id, "house_group"),
            values={"templateId": None, "policyId": None},
            sets_access=True,
            sets_domains=True,
            sets_sharing=True,
        )
        for group_id in (STAFF, HANDBOOK)
    ]
    assert [one.fault for one in await Guests(pool).ensure(entries)] == [None, None]
