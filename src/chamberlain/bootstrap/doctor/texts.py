"""Texts: whether an earlier version stored characters that are refused today."""

from collections.abc import Sequence

from chamberlain.bootstrap.doctor.databases import Opened
from chamberlain.bootstrap.doctor.looks import look
from chamberlain.rules.bad_texts import judge_texts
from chamberlain.rules.health import Checkup
from chamberlain.store.checkups import bad_texts
from chamberlain.store.database import Transaction


async def look_at_texts(opened: Opened) -> Sequence[Checkup]:
    """Of all tenants. Requests, events and the audit trail are too large to be searched."""

    async def read(tx: Transaction) -> Sequence[Checkup]:
        return judge_texts(await bad_texts(tx))

    return await look("texts", opened.worker, read)
