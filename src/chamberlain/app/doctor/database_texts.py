"""Texts: whether an earlier version stored characters that are refused today."""

from collections.abc import Sequence

from chamberlain.app.doctor.checks_looks import look
from chamberlain.app.doctor.database import Opened
from chamberlain.app.doctor.store import bad_texts
from chamberlain.core.checkups import Checkup
from chamberlain.core.text_bad_texts import judge_texts
from chamberlain.database.transactions import Transaction


async def look_at_texts(opened: Opened) -> Sequence[Checkup]:
    """Of all tenants. Requests, events and the audit trail are too large to be searched."""

    async def read(tx: Transaction) -> Sequence[Checkup]:
        return judge_texts(await bad_texts(tx))

    return await look("texts", opened.worker, read)
