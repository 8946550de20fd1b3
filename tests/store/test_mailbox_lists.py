"""Lists of mailboxes stay quick: each filter is read along an index, and a million mailboxes are like a thousand."""

from itertools import product
from uuid import UUID

import pytest

from chamberlain.rules.mailbox_records import MailboxFilter
from chamberlain.rules.mailbox_states import ProvisioningState
from chamberlain.rules.mailboxes import MailboxType
from chamberlain.rules.pages import PageWanted, Position
from chamberlain.store import mailbox_lists
from chamberlain.store.database import Transaction
from chamberlain.store.request_lists import PLANNING
from tests.databases import Databases
from tests.estates import ADA, ESTATE, OTHER_HOUSE
from tests.query_plans import SIZES, rows_looked_at

# One mailbox in a thousand is in each of the states that people look for, one in five thousand is queued or running.
# Some may be read by Ada. Half of the names begin alike, and of the other half all begin differently.
FILL = """
WITH made AS (
    INSERT INTO chamberlain.request (
        request_id, tenant_id, kind, state, display_name, template_id, template_name, body, approval_required,
        people_checked, client_id, actor_type, actor_id, actor_name, trace_id, steps, created_at
    )
    SELECT gen_random_uuid(), $1, CASE n % 3 WHEN 0 THEN 'room' WHEN 1 THEN 'equipment' ELSE 'shared' END,
        CASE n % 5000 WHEN 1007 THEN 'queued' WHEN 2007 THEN 'running' ELSE
        CASE n % 1000 WHEN 1 THEN 'failed' WHEN 2 THEN 'cancelled' WHEN 3 THEN 'waiting' WHEN 4 THEN 'pendingApproval'
        WHEN 5 THEN 'rejected' WHEN 6 THEN 'expired' ELSE 'succeeded' END END,
        CASE n % 2 WHEN 0 THEN 'room ' ELSE '' END || n, gen_random_uuid(), 'Template', '{}', false, true, 'client',
        'user', CASE WHEN n % 10 = 0 THEN $2 ELSE gen_random_uuid() END, 'Somebody', '', '[]',
        now() - interval '1 year' + n * interval '1 second'
    FROM generate_series(1, $3::integer) n
    RETURNING *
), described AS (
    INSERT INTO chamberlain.mailbox (
        request_id, mailbox_id, tenant_id, kind, name, name_key, display_name, address, template_id, template_source,
        content, readers, approval_required, actor_type, actor_id, actor_name, created_at
    )
    SELECT request_id, gen_random_uuid(), tenant_id, kind, display_name, display_name, display_name,
        replace(display_name, ' ', '-') || '@estate.example', template_id, 'default',
        json_build_object('name', display_name, 'displayName', display_name), ARRAY[actor_id], false, actor_type,
        actor_id, actor_name, created_at
    FROM made
)
INSERT INTO chamberlain.mailbox_reader (tenant_id, user_id, kind, created_at, request_id)
SELECT tenant_id, actor_id, kind, created_at, request_id FROM made
"""
JOBS = """
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, run_at)
SELECT tenant_id, 'mailboxProvision', request_id, '',
    now() + CASE state WHEN 'waiting' THEN interval '1 hour' ELSE interval '0' END
FROM chamberlain.request
WHERE state IN ('queued', 'running', 'waiting')
"""
FILTERS = [
    (MailboxFilter(mailbox_type, state, prefix), reader)
    for mailbox_type, state, prefix, reader in product(
        [None, MailboxType.ROOM],
        [None, ProvisioningState.ACTIVE, ProvisioningState.PROVISIONING, ProvisioningState.FAILED],
        [None, "room", "1999", "nobody"],
        [None, ADA],
    )
    # A few that are looked for among many that begin alike are found on a walk through all of these.
    if not (reader and state in (ProvisioningState.PROVISIONING, ProvisioningState.FAILED))
]


async def fill(databases: Databases, number: int) -> None:
    """Mailboxes of two tenants, with what belongs to them."""
    async with databases.worker.across_tenants() as tx:
        await tx.connection.execute("SET LOCAL statement_timeout = '300s'")
        await tx.connection.execute(FILL, ESTATE, ADA, number, timeout=300)
        await tx.connection.execute(FILL, OTHER_HOUSE, ADA, number // 10, timeout=300)
        await tx.execute(JOBS)


async def middle(tx: Transaction) -> Position:
    """A place in the middle of all."""
    row = await tx.fetch_row(
        "SELECT created_at, request_id FROM chamberlain.mailbox WHERE tenant_id = $1 ORDER BY created_at "
        "OFFSET (SELECT count(*) / 2 FROM chamberlain.mailbox WHERE tenant_id = $1) LIMIT 1",
        ESTATE,
    )
    assert row is not None
    return Position(row["created_at"], row["request_id"])


@pytest.mark.parametrize("number", SIZES)
async def test_it_works_along_indexes_for_every_filter(databases: Databases, number: int) -> None:
    await fill(databases, number)

    async with databases.application.transaction(ESTATE) as tx:
        for position, (wanted, reader) in product([None, await middle(tx)], FILTERS):
            assert await looked_at(tx, wanted, reader, position) <= 2_500, (wanted, reader, position)


async def looked_at(tx: Transaction, wanted: MailboxFilter, reader: UUID | None, position: Position | None) -> int:
    await tx.execute(PLANNING)
    page = PageWanted(50, position)
    few = wanted.prefix is not None and await mailbox_lists.few_begin(tx, wanted.prefix)
    statement, values = mailbox_lists.page_statement(tx, wanted, reader, page, few=few)
    return await rows_looked_at(tx, statement, *values)
