# SPDX-License-Identifier: Apache-2.0
"""Read mailboxes with the states of their requests, and find names.

A mailbox is written with its request, by requests/batcher.py.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.changes.records import actor_of
from chamberlain.core.ids import MailboxId, RequestId, TemplateId, TenantId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.mailboxes import MailboxType, TemplateSource
from chamberlain.mailboxes.models import MailboxRecord, provisioning_state_of
from chamberlain.mailboxes.wire import read_mailbox_order
from chamberlain.queries import load_queries
from chamberlain.requests.models import RequestError, RequestState
from chamberlain.requests.records import warnings_of

SQL = load_queries(__name__)

# A mailbox without a request is active: retention deletes failed ones together with their requests.
_KNOWN: Final = """m.mailbox_id, m.tenant_id, m.request_id, m.kind, m.address, m.template_id, m.template_source,
    m.content, m.approval_required, m.actor_type, m.actor_id, m.actor_name, m.created_at,
    coalesce(q.state, 'succeeded') AS state, q.error, coalesce(q.updated_at, m.updated_at) AS updated_at"""
# The warnings of the request include those about objects that it left in the directory.
_OF_REQUEST: Final = "q.warnings IS NOT NULL OR q.warning_causes IS NOT NULL"
COLUMNS: Final = f"""{_KNOWN}, CASE WHEN {_OF_REQUEST} THEN q.warnings ELSE m.warnings END AS warnings,
    CASE WHEN {_OF_REQUEST} THEN q.warning_causes ELSE m.warning_causes END AS warning_causes"""

FIND: Final = f"""
SELECT {COLUMNS} FROM chamberlain.mailbox m LEFT JOIN chamberlain.request q USING (request_id)
WHERE m.tenant_id = $1 AND m.mailbox_id = $2 AND ($3::uuid IS NULL OR $3 = ANY (m.readers))
"""  # noqa: S608 - text of ours alone.

# Only with the warnings at acceptance.
FIND_OF_REQUEST: Final = f"""
SELECT {_KNOWN}, m.warnings, m.warning_causes
FROM chamberlain.mailbox m LEFT JOIN chamberlain.request q USING (request_id)
WHERE m.tenant_id = $1 AND m.request_id = $2
"""  # noqa: S608 - as above.


async def find(tx: Transaction, mailbox_id: MailboxId, *, reader: UUID | None) -> MailboxRecord | None:
    """Read a mailbox if the reader may see it.

    A reader of None sees all.
    """
    row = await tx.fetch_row(FIND, tx.tenant_id, mailbox_id, reader)
    return record_of(row) if row else None


async def find_of_request(tx: Transaction, request_id: RequestId) -> MailboxRecord | None:
    """Read the mailbox of a request, with the warnings at acceptance."""
    row = await tx.fetch_row(FIND_OF_REQUEST, tx.tenant_id, request_id)
    return record_of(row) if row else None


async def ids_of_requests(tx: Transaction, request_ids: Sequence[RequestId]) -> Mapping[RequestId, MailboxId]:
    """Return the ids of the mailboxes of these requests."""
    rows = await tx.fetch(SQL["find_ids"], request_ids)
    return {RequestId(row["request_id"]): MailboxId(row["mailbox_id"]) for row in rows}


async def reserved(tx: Transaction, kind: str, values: Sequence[str]) -> frozenset[str]:
    """Return the names (in comparison form) or addresses that are reserved."""
    rows = await tx.fetch(SQL["find_reserved"], tx.tenant_id, kind, values)
    return frozenset([row["value"] for row in rows])


async def find_holder(tx: Transaction, kind: str, value: str, *, reader: UUID | None) -> MailboxId | None:
    """Find the mailbox with this name or address for a reader.

    Returns None if the reader may not see it.
    """
    row = await tx.fetch_row(SQL["find_holder"], tx.tenant_id, kind, value, reader)
    return MailboxId(row["mailbox_id"]) if row else None


def record_of(row: Record) -> MailboxRecord:
    """Convert a row to a mailbox."""
    error = row["error"]
    return MailboxRecord(
        id=MailboxId(row["mailbox_id"]),
        tenant_id=TenantId(row["tenant_id"]),
        order=read_mailbox_order(row["content"].encode()),
        type=MailboxType(row["kind"]),
        mail=row["address"],
        template_id=TemplateId(row["template_id"]),
        template_source=TemplateSource(row["template_source"]),
        provisioning_state=provisioning_state_of(RequestState(row["state"])),
        request_id=RequestId(row["request_id"]),
        approval_required=row["approval_required"],
        error=None if error is None else msgspec.json.decode(error, type=RequestError),
        warnings=warnings_of(row),
        created_at=row["created_at"],
        created_by=actor_of(row),
        updated_at=row["updated_at"],
    )
