# SPDX-License-Identifier: Apache-2.0
"""The LDAP client and entries, against slapd."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, TryAgain
from chamberlain.core.ids import RequestId
from chamberlain.directory.opensuite.entries import PAGE, Entries
from chamberlain.directory.opensuite.entry import Entry, Values
from chamberlain.directory.opensuite.filters import all_of, equal
from chamberlain.directory.opensuite.layout import REQUEST_ID
from chamberlain.directory.opensuite.ldap import Client, Operation, Refused, Result
from chamberlain.directory.opensuite.rules import member_url
from deploy.suite.folder import Suite
from deploy.suite.processes import end, signal_to, tree
from deploy.suite.servers import Starter
from tests.services import free_port
from tests.suite.ldap_work import (
    connected,
    group,
    group_dn,
    layout_of,
    mailbox,
    mailbox_dn,
    operating,
    server_of,
    unique,
)


@pytest.fixture
async def client(suite: Suite) -> AsyncIterator[Client]:
    async with connected(suite) as found:
        yield found


@pytest.fixture
def entries(client: Client) -> Entries:
    return Entries(client)


@contextmanager
def stopped(suite: Suite, part: str) -> Iterator[None]:
    """Stop a server for a while, as a busy or swapped machine does."""
    processes = tree(suite, part)
    signal_to(processes, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_to(processes, signal.SIGCONT)


async def test_it_works(suite: Suite, entries: Entries) -> None:
    name = unique("group")
    dn = group_dn(suite, name)

    added = await entries.add(dn, group(suite, name))
    changed = await entries.set(dn, {"displayName": ["Gärtner (1*)"], "description": ["one"]})
    repeated = await entries.set(dn, {"displayName": ["Gärtner (1*)"], "description": ["one"]})
    found = await entries.by_ids(suite.base, [added.id, uuid4()])
    [searched] = await entries.search(suite.base, all_of(equal("cn", name), equal("displayName", "Gärtner (1*)")))
    deleted, again = await entries.delete(dn), await entries.delete(dn)

    assert (changed, repeated, deleted, again) == (True, False, True, False)
    assert list(found) == [added.id]
    assert (searched.id, searched.one("displayName")) == (added.id, "Gärtner (1*)")
    assert await entries.read(dn) is None


async def test_a_missing_branch_has_no_entries(suite: Suite, entries: Entries) -> None:
    missing = f"ou=missing,{suite.base}"

    assert await entries.search(missing, "(objectClass=*)") == ()
    assert await entries.search_all(missing, "(objectClass=*)") == ()
    assert await entries.read(missing) is None


async def test_many_operations_share_a_connection(suite: Suite, entries: Entries) -> None:
    names = [unique("many") for _ in range(600)]

    added = await asyncio.gather(*[entries.add(group_dn(suite, name), group(suite, name)) for name in names])
    found = await entries.by_ids(suite.base, [each.id for each in added])
    read = await entries.read_all([group_dn(suite, name).upper() for name in names[:50]])

    assert len(found) == len(names)
    assert {entry.one("cn") for entry in read.values()} == set(names[:50])


async def test_it_reads_pages(suite: Suite, entries: Entries) -> None:
    mark = unique("paged")
    names = [f"{mark}-{number}" for number in range(PAGE + 20)]
    await asyncio.gather(*[entries.add(group_dn(suite, name), group(suite, name)) for name in names])

    first, second = await asyncio.gather(
        *[entries.search_all(f"ou=groups,{suite.base}", f"(cn={mark}-*)", attributes=["cn"]) for _ in range(2)]
    )

    assert {entry.one("cn") for entry in first} == set(names)
    assert {entry.id for entry in first} == {entry.id for entry in second}


async def test_names_and_addresses_are_unique(suite: Suite, entries: Entries) -> None:
    name, other = unique("taken"), unique("other")
    await entries.add(group_dn(suite, name), group(suite, name))

    with pytest.raises(Refused) as same_name:
        await entries.add(group_dn(suite, name), {**group(suite, name), "chamberlainAddress": [f"{other}@e.example"]})
    with pytest.raises(Refused) as same_address:
        await entries.add(
            group_dn(suite, other), {**group(suite, other), "chamberlainAddress": [f"{name.upper()}@estate.example"]}
        )

    assert same_name.value.result == Result.ALREADY_EXISTS
    assert same_address.value.result == Result.CONSTRAINT_VIOLATION


async def test_concurrent_changes_lose_nothing(suite: Suite, entries: Entries) -> None:
    name = unique("counted")
    dn = mailbox_dn(suite, name)
    await entries.add(dn, {**mailbox(name), "chamberlainCapacity": ["0"]})

    def more(entry: Entry) -> Values:
        return {"chamberlainCapacity": [str((entry.number("chamberlainCapacity") or 0) + 1)]}

    await asyncio.gather(*[entries.update(dn, more) for _ in range(5)])

    after = await entries.read(dn)
    assert after is not None
    assert after.number("chamberlainCapacity") == 5


async def test_it_changes_unique_addresses(suite: Suite, entries: Entries) -> None:
    name, alias, other = unique("named"), unique("alias"), unique("other")
    dn, addresses = mailbox_dn(suite, name), [f"{each}@estate.example" for each in (name, alias)]
    await entries.add(dn, mailbox(name))
    await entries.add(mailbox_dn(suite, other), mailbox(other))

    changed = await entries.set(dn, {"chamberlainAddress": addresses, "chamberlainCapacity": ["1"]})
    repeated = await entries.set(dn, {"chamberlainAddress": addresses})
    with pytest.raises(Refused) as refused:
        await entries.set(dn, {"chamberlainAddress": [*addresses, f"{other}@estate.example"]})

    assert (changed, repeated) == (True, False)
    assert refused.value.result == Result.CONSTRAINT_VIOLATION
    after = await entries.read(dn)
    assert after is not None
    assert set(after.all("chamberlainAddress")) == set(addresses)


async def test_concurrent_changes_of_unique_addresses_lose_nothing(suite: Suite, entries: Entries) -> None:
    name = unique("named")
    dn, aliases = mailbox_dn(suite, name), [f"{unique('alias')}@estate.example" for _ in range(5)]
    await entries.add(dn, mailbox(name))

    def more(alias: str) -> Callable[[Entry], Values]:
        return lambda entry: {"chamberlainAddress": [*entry.all("chamberlainAddress"), alias]}

    await asyncio.gather(*[entries.update(dn, more(alias)) for alias in aliases])

    after = await entries.read(dn)
    assert after is not None
    assert set(after.all("chamberlainAddress")) == {f"{name}@estate.example", *aliases}


async def test_an_added_entry_is_changed_without_reading_it(suite: Suite, entries: Entries) -> None:
    name = unique("added")
    dn = mailbox_dn(suite, name)
    added = await entries.add(dn, mailbox(name))

    changed = await entries.update(dn, lambda _: {"description": ["one"]}, known=added)
    # The version is old by now, so the entry is read.
    again = await entries.update(dn, lambda entry: {"description": [*entry.all("description"), "two"]}, known=added)

    after = await entries.read(dn)
    assert after is not None
    assert (changed, again, set(after.all("description"))) == (True, True, {"one", "two"})
    assert (after.id, after.one("mail")) == (added.id, added.one("mail"))


async def test_present_values_count_as_added(suite: Suite, entries: Entries) -> None:
    name = unique("members")
    dn, reader = group_dn(suite, name), f"cn=reader,{suite.base}"
    await entries.add(dn, group(suite, name))

    added = await asyncio.gather(*[entries.add_values(dn, "member", [reader]) for _ in range(4)])
    repeated = await entries.add_values(dn, "member", [reader.upper(), f"cn=chamberlain,{suite.base}"])

    assert (any(added), repeated) == (True, False)


async def test_a_mark_keeps_another_request_away(suite: Suite, entries: Entries) -> None:
    name, first, second = unique("marked"), RequestId(uuid4()), RequestId(uuid4())
    dn = mailbox_dn(suite, name)
    await entries.add(dn, mailbox(name))
    await entries.change(dn, [(Operation.ADD, REQUEST_ID, [str(first)])])

    with pytest.raises(Refused) as refused:
        await entries.change(dn, [(Operation.ADD, REQUEST_ID, [str(second)])])
    with pytest.raises(Refused) as not_ours:
        await entries.change(dn, [(Operation.DELETE, REQUEST_ID, [str(second)])])

    assert refused.value.result in {Result.CONSTRAINT_VIOLATION, Result.ATTRIBUTE_OR_VALUE_EXISTS}
    assert not_ours.value.result == Result.NO_SUCH_ATTRIBUTE


async def test_a_wrong_password_breaks_the_connection(suite: Suite) -> None:
    client = Client(server_of(suite, password="wrong"))

    with pytest.raises(ConnectionBroken) as broken:
        await Entries(client).search(suite.base, "(objectClass=*)")

    assert broken.value.because.code == "serverRefusesCredential"
    assert "wrong" not in repr(client) + str(broken.value)


async def test_an_entry_that_cannot_be_written_breaks_nothing(suite: Suite, entries: Entries) -> None:
    name = unique("own")

    with pytest.raises(TryAgain) as fault:
        await entries.set(suite.base, {"description": ["ours"]})
    added = await entries.add(group_dn(suite, name), group(suite, name))

    assert not isinstance(fault.value, ConnectionBroken)
    assert (fault.value.because.code, fault.value.cause) == ("serverRefusesAccess", Cause.AWAY)
    assert list(await entries.by_ids(suite.base, [added.id])) == [added.id]


async def test_a_missing_server_is_tried_again(suite: Suite) -> None:
    client = Client(replace(server_of(suite, url=f"ldap://127.0.0.1:{free_port()}"), timeout=timedelta(seconds=2)))

    with pytest.raises(TryAgain) as fault:
        await Entries(client).search(suite.base, "(objectClass=*)")

    assert not isinstance(fault.value, ConnectionBroken)
    assert fault.value.cause is Cause.AWAY


async def test_all_operations_wait_for_one_connection(suite: Suite) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(0)
        url = f"ldap://127.0.0.1:{silent.getsockname()[1]}"
        client = Client(replace(server_of(suite, url=url), timeout=timedelta(seconds=1)))
        entries = Entries(client)

        faults = await asyncio.gather(*[entries.read(suite.base) for _ in range(5)], return_exceptions=True)

        connection, _ = silent.accept()
        connection.close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert [type(fault) for fault in faults] == [TryAgain] * 5


async def test_a_closed_client_connects_no_more(suite: Suite) -> None:
    async with connected(suite) as client:
        assert await Entries(client).read(suite.base) is not None

    with pytest.raises(TryAgain):
        await Entries(client).read(suite.base)


async def test_it_connects_again_after_a_restart(suite: Suite, starter: Starter, entries: Entries) -> None:
    name = unique("restart")
    await entries.add(group_dn(suite, name), group(suite, name))

    end(suite, ["slapd"])
    with pytest.raises(TryAgain):
        await entries.search(suite.base, equal("cn", name))
    starter.one("slapd")

    [found] = await entries.search(suite.base, equal("cn", name))
    assert found.one("cn") == name


async def test_a_restart_while_idle_is_not_noticed(suite: Suite, starter: Starter, entries: Entries) -> None:
    name = unique("idle")
    await entries.add(group_dn(suite, name), group(suite, name))

    end(suite, ["slapd"])
    starter.one("slapd")

    [found] = await entries.search(suite.base, equal("cn", name))
    assert found.one("cn") == name


async def test_a_silent_server_is_tried_again(suite: Suite) -> None:
    client = Client(replace(server_of(suite), timeout=timedelta(seconds=1)))
    entries = Entries(client)
    assert await entries.read(suite.base) is not None

    with stopped(suite, "slapd"):
        faults = await asyncio.gather(*[entries.read(suite.base) for _ in range(3)], return_exceptions=True)
        with pytest.raises(TryAgain):
            await entries.read(suite.base)

    assert [type(fault) for fault in faults] == [TryAgain] * 3
    assert await entries.read(suite.base) is not None
    await client.close()


async def test_a_cancelled_search_leaves_the_connection_usable(suite: Suite, entries: Entries) -> None:
    searching = asyncio.create_task(entries.search_all(suite.base, "(objectClass=*)"))
    await asyncio.sleep(0)
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching

    assert await entries.read(suite.base) is not None


async def test_a_dynamic_group_follows_its_rule(suite: Suite, entries: Entries) -> None:
    name, layout = unique("dynamic"), layout_of(suite)
    rule = f'user.displayName -eq "{name}" -and user.department -startsWith "R&D (" -and user.userType -eq "Guest"'
    values = {each: value for each, value in group(suite, name).items() if each != "member"}
    person = f"uid={name},ou=guests,{suite.base}"
    await entries.add(
        group_dn(suite, name),
        {
            **values,
            "objectClass": ["groupOfURLs", "chamberlainGroup"],
            "memberURL": [member_url(rule, layout)],
        },
    )

    before = await entries.read(group_dn(suite, name))
    async with operating(suite) as operator:
        await operator.add(
            person,
            {
                "objectClass": ["inetOrgPerson"],
                "uid": [name],
                "cn": [name],
                "sn": [name],
                "displayName": [name],
                "departmentNumber": ["R&D (2)"],
                "employeeType": ["Guest"],
            },
        )
    after = await entries.read(group_dn(suite, name))

    assert before is not None
    assert after is not None
    assert (before.all("member"), after.all("member")) == ((), (person,))
