# SPDX-License-Identifier: Apache-2.0
"""Reading and listing mailboxes: those that one asked for, owns or has a permission on, or all for those who may."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from chamberlain.app import retention
from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden, NotFound
from chamberlain.core.ids import MailboxId
from chamberlain.core.paging import PageWanted
from chamberlain.directory.mailboxes import MailboxType
from chamberlain.mailboxes import records as mailbox_records
from chamberlain.mailboxes import store as mailbox_store
from chamberlain.mailboxes.models import MailboxFilter, MailboxRecord, ProvisioningState
from chamberlain.mailboxes.store import Route
from chamberlain.requests.models import RequestState
from tests.estates import ADA, BEN, CLEO, DARA, ESTATE, OTHER_HOUSE, ZOE, Estate, caller_of, mail_caller_of
from tests.mailboxes.mailbox_bodies import BODIES, SMALL
from tests.requests.request_services import administrator, application, cancel, put

ANY = MailboxFilter()
MANAGER = application("Mail.Manage.ReadWrite.All")


async def read(estate: Estate, caller: Caller, mailbox_id: MailboxId) -> MailboxRecord:
    return await replace(estate.mailboxes, authorization=estate.authorization()).read(caller, mailbox_id)


async def names(estate: Estate, caller: Caller, wanted: MailboxFilter = ANY, *, limit: int = 2) -> list[str]:
    """The names of all that a list gives, a page at a time."""
    mailboxes = replace(estate.mailboxes, authorization=estate.authorization())
    found: list[str] = []
    page = await mailboxes.list(caller, wanted, PageWanted(limit, None))
    while True:
        found += [record.order.name for record in page.items]
        assert len(page.items) == limit or page.next is None
        if page.next is None:
            return found
        page = await mailboxes.list(caller, wanted, PageWanted(limit, page.next))


async def ask(estate: Estate, *wanted: str, caller: Caller | None = None, **sent: object) -> Sequence[MailboxRecord]:
    """Shared mailboxes of these names, one after the other."""
    bodies = [{**SMALL, "name": name, **sent} for name in wanted]
    return [(await estate.ask_mailbox(body, caller=caller)).record for body in bodies]


async def test_it_works_for_those_whom_the_mailbox_names(estate: Estate) -> None:
    levels = {str(CLEO): "SendAs", str(DARA): "None"}
    (record,) = await ask(estate, "Info", primaryOwner=str(BEN), permissions=levels)

    for user in (ADA, BEN, CLEO):
        assert await read(estate, mail_caller_of(user), record.id) == record
        assert await names(estate, mail_caller_of(user)) == ["Info"]
    with pytest.raises(NotFound):
        await read(estate, mail_caller_of(DARA), record.id)
    assert await names(estate, mail_caller_of(DARA)) == []


async def test_administrators_and_applications_read_all_of_the_tenant_and_nobody_of_another(estate: Estate) -> None:
    (record,) = await ask(estate, "Info", caller=mail_caller_of(BEN))

    for caller in (administrator(ADA), MANAGER, application("Mail.Config.ReadWrite.All")):
        assert await read(estate, caller, record.id) == record
        assert await names(estate, caller) == ["Info"]
    for stranger in (mail_caller_of(ZOE, OTHER_HOUSE), application("Mail.Manage.ReadWrite.All", OTHER_HOUSE)):
        with pytest.raises(NotFound):
            await read(estate, stranger, record.id)
        assert await names(estate, stranger) == []


async def test_it_rejects_those_without_a_permission_and_ids_that_are_not_there(estate: Estate) -> None:
    (record,) = await ask(estate, "Info")

    with pytest.raises(Forbidden, match="lacks"):
        await read(estate, caller_of(ADA), record.id)
    with pytest.raises(Forbidden, match="administrators"):
        await read(estate, administrator(BEN), record.id)
    with pytest.raises(NotFound):
        await read(estate, MANAGER, MailboxId(uuid4()))


async def test_a_list_is_newest_first_and_goes_through_the_types(estate: Estate) -> None:
    for body in BODIES.values():
        await estate.ask_mailbox(body)
    await ask(estate, "Newest")
    everything = ["Newest", "Zürich", "Projector 7", "Info Desk"]

    assert await names(estate, MANAGER) == everything
    assert await names(estate, MANAGER, limit=1) == everything
    assert await names(estate, mail_caller_of(ADA)) == everything
    assert await names(estate, mail_caller_of(BEN)) == everything[1:]
    assert await names(estate, MANAGER, MailboxFilter(type=MailboxType.SHARED)) == ["Newest", "Info Desk"]
    assert await names(estate, mail_caller_of(BEN), MailboxFilter(type=MailboxType.ROOM)) == ["Zürich"]


@pytest.mark.parametrize("route", [Route.SPANS, Route.FEW_BEGINNING, Route.WALK])
@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("STRASS", ["Straße"]),
        ("Stra", ["Aliased", "Straße"]),
        ("strange@est", ["Aliased"]),
        ("aliased@est", ["Aliased"]),
        ("nobody", []),
    ],
)
async def test_a_prefix_finds_the_same_by_every_route(
    estate: Estate, route: Route, prefix: str, found: list[str]
) -> None:
    await ask(estate, "Straße", "Other")
    await ask(estate, "Aliased", alias="strange")

    async with estate.databases.application.transaction(ESTATE) as tx:
        page = PageWanted(10, None)
        statement, values = mailbox_store.page_statement(tx, MailboxFilter(prefix=prefix), None, page, route)
        rows = await tx.fetch(statement, *values)

    assert [mailbox_records.record_of(row).order.name for row in rows] == found


async def test_a_list_by_how_a_name_or_an_address_begins(estate: Estate) -> None:
    await ask(estate, "Straße", "Other", "100%")
    await ask(estate, "Aliased", alias="strange")
    by_name = MailboxFilter(prefix="STRASS")

    assert await names(estate, MANAGER, by_name) == ["Straße"]
    assert await names(estate, MANAGER, MailboxFilter(prefix="Stra")) == ["Aliased", "Straße"]
    assert await names(estate, MANAGER, MailboxFilter(prefix="strange@est")) == ["Aliased"]
    assert await names(estate, mail_caller_of(ADA), by_name) == ["Straße"]
    assert await names(estate, mail_caller_of(BEN), by_name) == []
    assert await names(estate, MANAGER, MailboxFilter(prefix="%")) == []
    assert await names(estate, MANAGER, replace(by_name, type=MailboxType.ROOM)) == []


async def test_a_list_by_how_a_name_begins_has_those_that_go_on_with_the_last_character_of_all(estate: Estate) -> None:
    last = "\U0010ffff"
    found = [f"a b{last}", f"a b{last}c", f"a b{last * 60}d", "a be"]
    await ask(estate, *reversed(found))

    assert await names(estate, MANAGER, MailboxFilter(prefix="a b")) == found
    assert await names(estate, MANAGER, MailboxFilter(prefix=f"a b{last}")) == found[:3]


@pytest.mark.parametrize("reader", [MANAGER, mail_caller_of(ADA)])
async def test_a_list_by_state_has_those_of_the_state(estate: Estate, reader: Caller) -> None:
    states = [each for each in RequestState if each is not RequestState.SUCCEEDED]
    for state, record in zip(states, await ask(estate, *states), strict=True):
        await put(estate, record.request_id, state)
    await ask(estate, "done")
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.request r SET state = 'succeeded' FROM chamberlain.mailbox m "
            "WHERE m.request_id = r.request_id AND m.name = 'done'"
        )

    found = {state: await names(estate, reader, MailboxFilter(provisioning_state=state)) for state in ProvisioningState}

    assert found == {
        ProvisioningState.PENDING_APPROVAL: ["pendingApproval"],
        ProvisioningState.QUEUED: ["queued"],
        ProvisioningState.PROVISIONING: ["waiting", "running"],
        ProvisioningState.ACTIVE: ["done"],
        ProvisioningState.FAILED: ["failed"],
        ProvisioningState.REJECTED: ["rejected"],
        ProvisioningState.CANCELLED: ["cancelled"],
        ProvisioningState.EXPIRED: ["expired"],
    }
    wanted = MailboxFilter(MailboxType.SHARED, ProvisioningState.FAILED, "fail")
    assert await names(estate, reader, wanted) == ["failed"]
    assert await names(estate, reader, replace(wanted, type=MailboxType.ROOM)) == []
    assert await names(estate, reader, replace(wanted, provisioning_state=ProvisioningState.EXPIRED)) == []


async def test_a_mailbox_outlives_its_request_and_keeps_its_name_while_one_that_never_was_goes(estate: Estate) -> None:
    active, cancelled = await ask(estate, "Active", "Cancelled", alias=None)
    await cancel(estate, cancelled.request_id, mail_caller_of(ADA))
    await estate.work()
    before = await read(estate, mail_caller_of(ADA), active.id)

    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.request SET created_at = created_at - interval '500 days'")
        removed = await retention.remove_finished(tx, estate.moment + timedelta(days=30), 10)

    assert removed == 2
    assert await read(estate, mail_caller_of(ADA), active.id) == before
    assert await names(estate, mail_caller_of(ADA)) == ["Active"]
    assert await estate.rows("SELECT count(*) FROM chamberlain.mailbox_reader") == [(1,)]
    assert await estate.rows("SELECT kind FROM chamberlain.reservation ORDER BY kind") == [("address",), ("name",)]
