# SPDX-License-Identifier: Apache-2.0
"""Rights of the service's account in the LDAP server, as deploy/suite/slapd/slapd.conf gives them."""

from collections.abc import AsyncIterator

import pytest

from chamberlain.core.errors import TryAgain
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.ldap import Client, Scope
from deploy.suite.folder import Suite
from tests.suite.ldap_work import connected, layout_of, mailbox, mailbox_dn, operating, unique
from tests.suite.suite_directory import SuiteDirectory


@pytest.fixture
async def client(suite: Suite) -> AsyncIterator[Client]:
    async with connected(suite) as found:
        yield found


async def test_the_access_log_shows_no_passwords(suite: Suite, directory: SuiteDirectory, client: Client) -> None:
    name = unique("person")
    secret = unique("secret")
    person = {"objectClass": "inetOrgPerson", "uid": name, "cn": name, "sn": name, "userPassword": secret}
    dn = f"uid={name},ou=people,{suite.base}"
    directory.add(dn, person)
    directory.replace(dn, "userPassword", secret)
    # A mailbox of the operator, which has a password.
    box = mailbox_dn(suite, name)
    directory.add(box, {**mailbox(name), "userPassword": secret})
    directory.delete(box)

    logged = [await client.search("cn=accesslog", Scope.SUBTREE, f"(reqDN={each})", ["*", "+"]) for each in (dn, box)]
    guessed = await client.search("cn=accesslog", Scope.SUBTREE, f"(reqMod=userPassword:+ {secret})", ["*"])

    rows = [row.values for each in logged for row in each.rows]
    assert len(rows) == 4
    assert all("reqMod" not in each for each in rows)
    old = [value for each in rows for value in each.get("reqOld", ())]
    assert f"uid: {name}".encode() in old
    assert not [value for value in old if secret.encode() in value]
    assert guessed.rows == []


async def test_the_service_gives_nobody_a_password(suite: Suite, client: Client) -> None:
    """Such an account could sign in to all servers."""
    name = unique("intruder")
    person = {"objectClass": ["inetOrgPerson"], "uid": [name], "cn": [name], "sn": [name], "userPassword": [name]}

    for branch in ("groups", "mailboxes", "guests", "people"):
        with pytest.raises(TryAgain) as refused:
            await Entries(client).add(f"uid={name},ou={branch},{suite.base}", person)
        assert refused.value.because.code == "serverRefusesAccess"


async def test_the_service_only_blocks_guests(suite: Suite, client: Client) -> None:
    name = unique("guest")
    dn = f"uid={name},ou=guests,{suite.base}"
    person = {"objectClass": ["inetOrgPerson"], "uid": [name], "cn": [name], "sn": [name], "employeeType": ["Guest"]}
    async with operating(suite) as operator:
        await operator.add(dn, person)
    attribute, blocked = layout_of(suite).disabled

    assert await Entries(client).set(dn, {attribute: [blocked]})
    for changed in ({"employeeType": ["Staff"]}, {"mail": ["ada@estate.example"]}):
        with pytest.raises(TryAgain) as refused:
            await Entries(client).set(dn, changed)
        assert refused.value.because.code == "serverRefusesAccess"
    with pytest.raises(TryAgain):
        await Entries(client).delete(dn)
