"""Which keys the stored keys of the platform are sealed with, for whoever looks after it."""

from chamberlain.embedded.identity.database import Pool, transaction

# Whoever seals puts the length of the key's id first, and the id behind it.
_READ = """
SELECT DISTINCT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id
FROM identity.signing_keys WHERE length(sealed) > 1 ORDER BY 1
"""


async def sealing_keys(pool: Pool) -> frozenset[str]:
    """The ids of those keys. Raises IdentityUnreachable."""
    async with transaction(pool) as connection:
        return frozenset(row["key_id"] for row in await connection.fetch(_READ))
