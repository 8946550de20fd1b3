# SPDX-License-Identifier: Apache-2.0
"""Rotate the keys of stored tokens, and remove sessions that ended."""

from collections.abc import Mapping
from datetime import datetime

from chamberlain.console.models import IDLE_LIFE, context_of
from chamberlain.database.transactions import Transaction
from chamberlain.queries import load_queries
from chamberlain.secrets.keyring import Keyring, Resealed

SQL = load_queries(__name__)


async def remove_ended(tx: Transaction, now: datetime, most: int) -> int:
    """Remove up to `most` sessions that ended, and return their number."""
    row = await tx.fetch_row(SQL["remove_ended"], now - IDLE_LIFE, most)
    return 0 if row is None else int(row["removed"])


async def hold(tx: Transaction) -> None:
    """Block writes of tokens until this transaction ends."""
    await tx.execute(SQL["hold"])


async def count(tx: Transaction) -> Mapping[str, int]:
    """Count the sessions of each key."""
    return {row["key_id"]: row["number"] for row in await tx.fetch(SQL["count"])}


async def reseal(tx: Transaction, keyring: Keyring, after: bytes, most: int) -> Resealed[bytes]:
    """Re-encrypt the tokens of up to `most` sessions after a cursor.

    It uses the first key. Tokens that cannot be decrypted stay unchanged.
    """
    rows = await tx.fetch(SQL["take"], after, keyring.first_header, most)
    stored = [(bytes(row["digest"]), bytes(row["sealed"]), context_of(bytes(row["digest"]))) for row in rows]
    sealed, batch = keyring.reseal_all(stored, most)
    await tx.execute(SQL["put_resealed"], list(sealed), list(sealed.values()))
    return batch
