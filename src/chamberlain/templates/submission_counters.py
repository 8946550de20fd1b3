"""Counters: the numbers that naming rules use."""

from chamberlain.core.ids import TemplateId
from chamberlain.database.transactions import Transaction


async def next_number(tx: Transaction, template_id: TemplateId, rule: str) -> int:
    """A number that this rule of this template never had before. It stays used even when the transaction is given
    up."""
    (row,) = await tx.fetch("SELECT chamberlain.next_number($1, $2) AS number", template_id, rule)
    return int(row["number"])
