# SPDX-License-Identifier: Apache-2.0
"""Connections to the LDAP server of a suite, and entries for tests. Names are new in each test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

from chamberlain.core.ids import RequestId, TenantId
from chamberlain.directory.opensuite.attributes import GROUP_CLASS, MAILBOX_CLASS, MANAGED_GROUP_CLASS, PERSON_CLASS
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Values
from chamberlain.directory.opensuite.layout import MARK, REQUEST_ID, Branch, Layout, mark_values
from chamberlain.directory.opensuite.ldap import Client, Server
from deploy.suite.folder import Suite

TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))


def server_of(suite: Suite, *, password: str | None = None, url: str | None = None) -> Server:
    """The LDAP server, with the account of the service."""
    return Server(
        url=url or suite.values["LDAP_URL"],
        bind_dn=f"cn=chamberlain,{suite.base}",
        password=suite.values["CHAMBERLAIN_PASSWORD"] if password is None else password,
        timeout=timedelta(seconds=20),
    )


@asynccontextmanager
async def connected(suite: Suite) -> AsyncIterator[Client]:
    """A client of its own connection."""
    client = Client(server_of(suite))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def operating(suite: Suite) -> AsyncIterator[Entries]:
    """The entries as the operator writes them, also people."""
    server = server_of(suite, password=suite.values["LDAP_ROOT_PASSWORD"])
    client = Client(replace(server, bind_dn=f"cn=root,{suite.base}"))
    try:
        yield Entries(client)
    finally:
        await client.close()


def layout_of(suite: Suite) -> Layout:
    """The branches of deploy/suite."""
    return Layout(
        people=Branch(suite.base, f"(&(objectClass={PERSON_CLASS})(!(objectClass={MAILBOX_CLASS})))"),
        groups=Branch(f"ou=groups,{suite.base}", f"(|(objectClass={GROUP_CLASS})(objectClass=groupOfURLs))"),
        mailboxes=Branch(f"ou=mailboxes,{suite.base}", f"(objectClass={MAILBOX_CLASS})"),
    )


def unique(name: str) -> str:
    """A name that no other test uses."""
    return f"{name}-{uuid4().hex[:12]}"


def group_dn(suite: Suite, name: str) -> str:
    """The name of a group's entry."""
    return f"cn={name},ou=groups,{suite.base}"


def mailbox_dn(suite: Suite, name: str) -> str:
    """The name of a mailbox's entry."""
    return f"uid={name},ou=mailboxes,{suite.base}"


def group(suite: Suite, name: str) -> Values:
    """The values of a group with the service as its member."""
    address = f"{name}@estate.example"
    return {
        "objectClass": [GROUP_CLASS, MANAGED_GROUP_CLASS],
        "cn": [name],
        "displayName": [name],
        "mail": [address],
        "chamberlainAddress": [address],
        "member": [f"cn=chamberlain,{suite.base}"],
    }


def mailbox(name: str, request_id: RequestId | None = None, extension: str = "chamberlain_mailbox") -> Values:
    """The values of a shared mailbox, with the mark of a request if one is given."""
    address = f"{name}@estate.example"
    marks: Values = {} if request_id is None else {REQUEST_ID: [str(request_id)], MARK: mark_values({}, extension)}
    return {
        "objectClass": [PERSON_CLASS, MAILBOX_CLASS],
        "uid": [name],
        "cn": [name],
        "sn": [name],
        "displayName": [name],
        "mail": [address],
        "chamberlainAddress": [address],
        "chamberlainType": ["shared"],
        **marks,
    }
