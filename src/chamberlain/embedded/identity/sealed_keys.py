"""Which keys the stored keys of the platform are sealed with, for whoever looks after it, and sealing them anew."""

from collections.abc import Mapping
from typing import Final

from chamberlain.embedded.identity.database import Pool, transaction
from chamberlain.embedded.identity.signing_keys import Sealer, place_of

# Whoever seals puts the length of the key's id first, and the id behind it.
_READ: Final = """
SELECT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id, count(*) AS number
FROM identity.signing_keys WHERE length(sealed) > 1 GROUP BY 1 ORDER BY 1
"""
_TAKE: Final = "SELECT id, sealed FROM identity.signing_keys ORDER BY id FOR UPDATE"
_PUT: Final = "UPDATE identity.signing_keys SET sealed = $2 WHERE id = $1"


async def sealing_keys(pool: Pool) -> Mapping[str, int]:
    """How many are sealed with each of those keys. Raises IdentityUnreachable."""
    async with transaction(pool) as connection:
        return {row["key_id"]: row["number"] for row in await connection.fetch(_READ)}


async def reseal(pool: Pool, sealer: Sealer, unusable: type[Exception]) -> tuple[int, int]:
    """Seal all of them anew; one that does not open, for which the sealer raises `unusable`, stays as it is. Gives how
    many were sealed and how many were left. Raises IdentityUnreachable."""
    left = 0
    async with transaction(pool) as connection:
        rows = await connection.fetch(_TAKE)
        for row in rows:
            place = place_of(row["id"])
            try:
                sealed = sealer.seal(sealer.open(row["sealed"], place), place)
            except unusable:
                left += 1
            else:
                await connection.execute(_PUT, row["id"], sealed)
    return len(rows) - left, left
