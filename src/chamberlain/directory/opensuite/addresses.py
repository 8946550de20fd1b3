# SPDX-License-Identifier: Apache-2.0
"""Addresses of entries, and those that a batch of new ones claims.

One attribute has all addresses of mailboxes and groups, and the server keeps it unique. Addresses of people are in
other attributes, so they are compared before a write.
"""

import asyncio
from collections.abc import Collection, Hashable, Iterable, Mapping
from uuid import UUID

from chamberlain.core.errors import Rejected
from chamberlain.directory.opensuite.entries import Entries, batched
from chamberlain.directory.opensuite.filters import any_value
from chamberlain.directory.opensuite.layout import Layout


class Addresses:
    """Entries with some addresses, by address in lower case."""

    def __init__(self, holders: Mapping[str, Collection[UUID]]) -> None:
        self._holders = holders
        self._claims: dict[str, Hashable] = {}

    @classmethod
    async def read(cls, entries: Entries, layout: Layout, addresses: Iterable[str]) -> "Addresses":
        """Look up the entries with one of these addresses. Raises TryAgain."""
        attributes = layout.addresses
        searches = [
            entries.search(base, f"(|{''.join(any_value(each, batch) for each in attributes)})", attributes=attributes)
            for batch in batched(addresses)
            for base in layout.tops
        ]
        holders: dict[str, set[UUID]] = {}
        for found in await asyncio.gather(*searches):
            for entry in found:
                for address in [address for each in attributes for address in entry.all(each)]:
                    holders.setdefault(address.lower(), set()).add(entry.id)
        return cls(holders)

    def claim(self, addresses: Collection[str], own_id: UUID | None, key: Hashable) -> Rejected | None:
        """Claim addresses for an object of this batch.

        Return the rejection of a taken one, and claim nothing then.

        `own_id` is the entry of the object, if it exists. Objects with the same key are one.
        """
        for address in addresses:
            others = set(self._holders.get(address.lower(), ())) - {own_id}
            if others or self._claims.get(address.lower(), key) != key:
                return address_taken(address)
        self._claims |= dict.fromkeys([address.lower() for address in addresses], key)
        return None


def address_taken(address: str) -> Rejected:
    """Return the rejection of a taken address."""
    sentence = f"The address {address} belongs to another user, group or mailbox. Choose another name or alias."
    return Rejected("addressTaken", sentence)
