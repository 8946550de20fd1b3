# SPDX-License-Identifier: Apache-2.0
"""Addresses of directories: only the permitted hosts, and never a password."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.connections.models import (
    Adapter,
    Connection,
    ConnectionSettings,
    ConnectionState,
    Described,
    StateReason,
)
from chamberlain.connections.rules import (
    check_connections,
    connection_faults,
    is_permitted,
    keeps_secret,
    parse_address,
    parse_graph,
    parse_server,
)
from chamberlain.core.health import HealthState
from chamberlain.core.ids import ConnectionId, TenantId

HOSTS = frozenset({"directory.example:5432", "10.0.0.7", "/run/postgresql", "[::1]"})
DIRECTORY = "11111111-2222-3333-4444-555555555555"


def test_it_works() -> None:
    address = parse_address("postgresql://reader@Directory.example:5432/people?sslmode=require")

    assert address is not None
    assert (address.role, address.places, address.database) == ("reader", (("directory.example", 5432),), "people")
    assert (
        address.with_password("a/b@c") == "postgresql://reader:a%2Fb%40c@directory.example:5432/people?sslmode=require"
    )
    assert is_permitted(address.places, HOSTS)


@pytest.mark.parametrize(
    ("text", "permitted"),
    [
        ("postgresql://r@10.0.0.7:6000/d", True),
        ("postgresql://r@[::1]:5432/d", True),
        ("postgresql://r@/d?host=/run/postgresql", True),
        ("postgresql://r@directory.example/d", True),
        ("postgresql://r@directory.example:5433/d", False),
        ("postgresql://r@10.0.0.7,evil.example/d", False),
        ("postgresql://r@evil.example/d", False),
        ("postgresql://r@/d?host=/tmp", False),
    ],
)
def test_hosts_that_the_operator_permits(text: str, permitted: bool) -> None:  # noqa: FBT001 - a column of the table.
    address = parse_address(text)

    assert address is not None
    assert is_permitted(address.places, HOSTS) is permitted


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://r:secret@10.0.0.7/d",
        "postgresql://10.0.0.7/d",
        "postgresql://r@10.0.0.7/",
        "postgresql://r@10.0.0.7/d?host=evil.example",
        "postgresql://r@10.0.0.7/d?hostaddr=192.0.2.1",
        "postgresql://r@10.0.0.7/d?passfile=/etc/passwd",
        "postgresql://r@10.0.0.7/d?sslkey=/etc/passwd",
        "postgresql://r@10.0.0.7/d?service=x",
        "postgresql://r@10.0.0.7/d?sslmode=no",
        "postgresql://r@/d?host=evil.example",
        "postgresql://r@/d?host=/a,/b",
        "postgresql://r@10.0.0.7:0/d",
        "postgresql://r@10.0.0.7:70000/d",
        "postgresql://r@a@10.0.0.7/d",
        "http://r@10.0.0.7/d",
        "10.0.0.7",
    ],
)
def test_other_addresses_are_invalid(text: str) -> None:
    assert parse_address(text) is None


@pytest.mark.parametrize(
    ("state", "hosts", "states"),
    [
        (ConnectionState.READY, HOSTS, [HealthState.OK]),
        (ConnectionState.NEW, HOSTS, [HealthState.WARNING]),
        (ConnectionState.BROKEN, HOSTS, [HealthState.FAULT]),
        (ConnectionState.READY, frozenset[str](), [HealthState.FAULT]),
    ],
)
def test_the_doctor_reports_connections(
    state: ConnectionState, hosts: frozenset[str], states: list[HealthState]
) -> None:
    found = check_connections([connection_in(state)], hosts)

    assert [each.state for each in found] == states
    assert [each.state for each in check_connections([], hosts)] == [HealthState.OK]


def connection_in(state: ConnectionState) -> Connection:
    return Connection(
        id=ConnectionId(UUID(int=1)),
        tenant_id=TenantId(UUID(int=2)),
        adapter=Adapter.EMBEDDED,
        address="postgresql://r@10.0.0.7/d",
        has_secret=True,
        credential_file=None,
        state=state,
        reason=StateReason("passwordRefused", "Change it.") if state is ConnectionState.BROKEN else None,
        described=Described(),
        checked_at=None,
        revision=1,
        created_at=datetime(2026, 11, 20, tzinfo=UTC),
        updated_at=datetime(2026, 11, 20, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("address", "credential_file", "is_kept"),
    [
        ("postgresql://other@10.0.0.7:5432/other?sslmode=require", None, True),
        ("postgresql://r@10.0.0.7:5433/d", None, False),
        ("postgresql://r@10.0.0.8/d", None, False),
        ("postgresql://r@10.0.0.7,10.0.0.8/d", None, False),
        ("postgresql://r@10.0.0.7/d", "file", False),
        ("nonsense", None, False),
        (None, None, False),
    ],
)
def test_a_stored_credential_stays_with_its_host(
    address: str | None,
    credential_file: str | None,
    is_kept: bool,  # noqa: FBT001 - a column of the table.
) -> None:
    before = connection_in(ConnectionState.READY)

    assert keeps_secret(before, ConnectionSettings(Adapter.EMBEDDED, address, credential_file)) is is_kept


DIRECTORY = "11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize(
    ("adapter", "address", "has_credential", "codes"),
    [
        (Adapter.EMBEDDED, None, False, []),
        (Adapter.EMBEDDED, None, True, ["credentialNotNeeded"]),
        (Adapter.EMBEDDED, "postgresql://r@10.0.0.7/d", True, []),
        (Adapter.EMBEDDED, "postgresql://r@10.0.0.7/d", False, ["credentialMissing"]),
        (Adapter.EMBEDDED, "postgresql://r@192.0.2.1/d", True, ["hostNotPermitted"]),
        (Adapter.EMBEDDED, "nonsense", False, ["addressInvalid", "credentialMissing"]),
        (Adapter.MICROSOFT365, f"https://10.0.0.7/{DIRECTORY}", True, []),
        (Adapter.MICROSOFT365, f"https://10.0.0.7/{DIRECTORY}", False, ["credentialMissing"]),
        (Adapter.MICROSOFT365, f"https://192.0.2.1/{DIRECTORY}", True, ["hostNotPermitted"]),
        (Adapter.MICROSOFT365, f"http://10.0.0.7/{DIRECTORY}", True, ["addressInvalid"]),
        (Adapter.MICROSOFT365, "https://10.0.0.7/contoso.com", True, ["addressInvalid"]),
        (Adapter.MICROSOFT365, None, True, ["addressInvalid"]),
        (Adapter.OPENSUITE, "ldaps://10.0.0.7", True, []),
        (Adapter.OPENSUITE, "ldaps://10.0.0.7", False, ["credentialMissing"]),
        (Adapter.OPENSUITE, "ldaps://192.0.2.1", True, ["hostNotPermitted"]),
        (Adapter.OPENSUITE, "postgresql://r@10.0.0.7/d", True, ["addressInvalid"]),
        (Adapter.OPENSUITE, None, True, ["addressInvalid"]),
    ],
)
def test_faults_of_a_connection(
    adapter: Adapter,
    address: str | None,
    has_credential: bool,  # noqa: FBT001 - a column of the table.
    codes: list[str],
) -> None:
    faults = connection_faults(adapter, address, has_credential=has_credential, hosts=HOSTS)

    assert [each.code for each in faults] == codes


def test_a_suite_has_its_secrets_in_files() -> None:
    faults = connection_faults(Adapter.OPENSUITE, "ldaps://10.0.0.7", has_credential=True, has_secret=True, hosts=HOSTS)

    assert [each.code for each in faults] == ["credentialMissing"]


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("ldaps://ldap.example", "ldaps://ldap.example:636"),
        ("ldap://LDAP.example:1389/", "ldap://ldap.example:1389"),
        ("ldaps://[2001:db8::1]:637", "ldaps://[2001:db8::1]:637"),
    ],
)
def test_addresses_of_ldap_servers(address: str, url: str) -> None:
    parsed = parse_server(address)

    assert parsed is not None
    assert parsed.url == url


@pytest.mark.parametrize(
    "address",
    [
        "ldap.example",
        "ldapi:///run/slapd",
        "ldap://",
        "ldap://cn=admin@ldap.example",
        "ldap://ldap.example/dc=example",
        "ldap://one.example,two.example",
        "ldap://ldap.example:0",
        "ldap://ldap.example?base",
        "ldap://[::1",
    ],
)
def test_invalid_addresses_of_ldap_servers(address: str) -> None:
    assert parse_server(address) is None


@pytest.mark.parametrize(
    ("address", "url", "places"),
    [
        (f"https://graph.microsoft.com/{DIRECTORY}", "https://graph.microsoft.com", ("graph.microsoft.com", 443)),
        (f"https://localhost:8366/graph/{DIRECTORY}", "https://localhost:8366/graph", ("localhost", 8366)),
    ],
)
def test_addresses_of_graph(address: str, url: str, places: tuple[str, int]) -> None:
    parsed = parse_graph(address)

    assert parsed is not None
    assert (parsed.url, parsed.directory, parsed.places) == (url, DIRECTORY, (places,))


@pytest.mark.parametrize(
    "address",
    [
        f"http://localhost:8365/graph/{DIRECTORY}",
        f"https://graph.microsoft.com/v1.0/{DIRECTORY}",
        f"https://graph.microsoft.com//graph/{DIRECTORY}",
        f"https://graph.microsoft.com/{DIRECTORY}/",
        f"https://graph.microsoft.com/{DIRECTORY}?a=b",
        f"https://user@graph.microsoft.com/{DIRECTORY}",
        "https://graph.microsoft.com/graph",
        "https://graph.microsoft.com/contoso",
    ],
)
def test_invalid_addresses_of_graph(address: str) -> None:
    assert parse_graph(address) is None
