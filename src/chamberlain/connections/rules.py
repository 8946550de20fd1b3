# SPDX-License-Identifier: Apache-2.0
"""Rules of connections: addresses, permitted hosts, audit entries and events."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from chamberlain.auth.models import Editor
from chamberlain.changes.models import Change, Content, Event, EventType, Subject, change_by, differences
from chamberlain.connections.models import (
    Adapter,
    Connection,
    ConnectionSettings,
    ConnectionState,
    StateReason,
)
from chamberlain.core.errors import Conflict, Fault
from chamberlain.core.health import HealthCheck, fault, healthy, warning
from chamberlain.core.ids import EventId

# Values of sslmode that PostgreSQL documents (libpq, "SSL Mode Descriptions").
_SSL_MODES: Final = frozenset({"disable", "allow", "prefer", "require", "verify-ca", "verify-full"})
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_DEFAULT_PORT: Final = 5432
# RFC 4516, and the registration of ldaps at IANA.
_LDAP_PORTS: Final[Mapping[str, int]] = {"ldap": 389, "ldaps": 636}
_HTTPS_PORT: Final = 443
# The embedded directory of another installation is below /graph.
_DIRECTORY_ID: Final = re.compile(r"(/graph)?/([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})")


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A parsed address of a PostgreSQL database, without a password.

    `places` are hosts with ports, or one folder of a local socket.
    """

    role: str
    places: tuple[tuple[str, int], ...]
    database: str
    ssl_mode: str | None

    @property
    def is_socket(self) -> bool:
        """Return whether it is a local socket."""
        return self.places[0][0].startswith("/")

    def with_password(self, password: str) -> str:
        """Build the address for the driver, from the validated parts only."""
        role = f"{quote(self.role, safe='')}:{quote(password, safe='')}"
        ssl = () if self.ssl_mode is None else (f"sslmode={self.ssl_mode}",)
        database = quote(self.database, safe="")
        if self.is_socket:
            [(folder, port)] = self.places
            query = "&".join((f"host={quote(folder, safe='/')}", f"port={port}", *ssl))
            return f"postgresql://{role}@/{database}?{query}"
        hosts = ",".join(f"{host}:{port}" for host, port in self.places)
        return f"postgresql://{role}@{hosts}/{database}{'?' if ssl else ''}{''.join(ssl)}"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A parsed address of an LDAP server.

    Everything else of a suite is in the settings of its connection.
    """

    scheme: str
    host: str
    port: int

    @property
    def places(self) -> tuple[tuple[str, int], ...]:
        """Return the host with its port."""
        return ((self.host, self.port),)

    @property
    def url(self) -> str:
        """Build the address for the client, from the validated parts only."""
        return f"{self.scheme}://{self.host}:{self.port}"


def parse_server(address: str) -> ServerAddress | None:
    """Parse an address such as ldaps://host:636, without a path or a user.

    Returns None if it is invalid.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme not in _LDAP_PORTS or parts.path.strip("/") or parts.query or parts.fragment:
        return None
    places = _places(parts.netloc, _LDAP_PORTS[parts.scheme]) if "," not in parts.netloc else None
    return None if places is None else ServerAddress(parts.scheme, *places[0])


@dataclass(frozen=True, slots=True)
class GraphAddress:
    """A parsed address of Microsoft Graph with the id of a directory.

    `path` is that of Graph, `/graph` in another installation of this service.
    """

    host: str
    port: int
    path: str
    directory: str

    @property
    def places(self) -> tuple[tuple[str, int], ...]:
        """Return the host with its port."""
        return ((self.host, self.port),)

    @property
    def url(self) -> str:
        """Build the address of Graph, from the validated parts only."""
        port = "" if self.port == _HTTPS_PORT else f":{self.port}"
        return f"https://{self.host}{port}{self.path}"


def parse_graph(address: str) -> GraphAddress | None:
    """Parse an address such as https://graph.microsoft.com/ID, with the id of the directory.

    Returns None if it is invalid.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    found = _DIRECTORY_ID.fullmatch(parts.path)
    if parts.scheme != "https" or parts.query or parts.fragment or found is None:
        return None
    places = _places(parts.netloc, _HTTPS_PORT) if "," not in parts.netloc else None
    return None if places is None else GraphAddress(*places[0], found[1] or "", found[2].lower())


def parse_places(adapter: Adapter, address: str) -> tuple[tuple[str, int], ...] | None:
    """Parse hosts and ports of an address, or a local socket.

    Returns None if the address is invalid.
    """
    parsed: ServerAddress | GraphAddress | DatabaseAddress | None
    match adapter:
        case Adapter.OPENSUITE:
            parsed = parse_server(address)
        case Adapter.MICROSOFT365:
            parsed = parse_graph(address)
        case Adapter.EMBEDDED:
            parsed = parse_address(address)
    return None if parsed is None else parsed.places


def parse_address(address: str) -> DatabaseAddress | None:
    """Parse an address such as postgresql://role@host:5432/database.

    Returns None if it is invalid, has a password, or has options other than sslmode, and host and port of a local
    socket.
    """
    try:
        parts = urlsplit(address)
        options = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError:
        return None
    role, at, hosts = parts.netloc.rpartition("@")
    database = unquote(parts.path.removeprefix("/"))
    if (
        parts.scheme not in {"postgresql", "postgres"}
        or parts.fragment
        or not at
        or not role
        or re.search("[:@]", role)
    ):
        return None
    if not re.fullmatch(r"[^/\x00-\x1f]+", database) or not unquote(role).isprintable():
        return None
    ssl_mode = options.pop("sslmode", None)
    if ssl_mode is not None and ssl_mode not in _SSL_MODES:
        return None
    places = _socket(options) if not hosts else None if options else _places(hosts)
    return None if places is None else DatabaseAddress(unquote(role), places, database, ssl_mode)


def _socket(options: Mapping[str, str]) -> tuple[tuple[str, int], ...] | None:
    folder, port = options.get("host", ""), options.get("port", str(_DEFAULT_PORT))
    if set(options) - {"host", "port"} or not re.fullmatch(r"/[^,\x00-\x1f]*", folder) or not _is_port(port):
        return None
    return ((folder, int(port)),)


def _places(hosts: str, default_port: int = _DEFAULT_PORT) -> tuple[tuple[str, int], ...] | None:
    found = []
    for each in hosts.split(","):
        host, _, port = each.partition("]:") if each.startswith("[") else each.partition(":")
        host = f"{host.rstrip(']')}]" if each.startswith("[") else host.lower()
        port = port or str(default_port)
        if _HOST.fullmatch(host) is None or not _is_port(port):
            return None
        found.append((host, int(port)))
    return tuple(found)


def _is_port(port: str) -> bool:
    return re.fullmatch(r"[0-9]{1,5}", port) is not None and 1 <= int(port) <= 65535


def is_permitted(places: Iterable[tuple[str, int]], hosts: Collection[str]) -> bool:
    """Return whether the operator permits all hosts of an address.

    `hosts` has hosts, hosts with a port, and folders of local sockets.
    """
    return all(host in hosts or f"{host}:{port}" in hosts for host, port in places)


def connection_faults(
    adapter: Adapter, address: str | None, *, has_credential: bool, hosts: Collection[str], has_secret: bool = False
) -> Iterator[Fault]:
    """Validate a connection as it is going to be.

    A credential is a secret or a file.
    """
    if address is None and adapter is Adapter.EMBEDDED:
        if has_credential:
            sentence = "The directory in the database of the service needs no credential. Leave it out."
            yield Fault.build("/credential", "credentialNotNeeded", sentence)
        return
    places = parse_places(adapter, address or "")
    if places is None:
        yield Fault.build("/address", "addressInvalid", _ADDRESSES[adapter])
    elif not is_permitted(places, hosts):
        sentence = "The operator does not permit connections to this host. Ask the operator to add it to {setting}."
        yield Fault.build("/address", "hostNotPermitted", sentence, setting="CHAMBERLAIN_CONNECTION_HOSTS")
    if adapter in _WITH_SETTINGS and (has_secret or not has_credential):
        sentence = (
            "A connection to an open suite or to Microsoft 365 needs credentialFile, the name of a file with its "
            "settings. The secrets are in files beside it."
        )
        yield Fault.build("/credential", "credentialMissing", sentence)
    elif not has_credential:
        sentence = (
            "A connection with an address needs a credential: credential or credentialFile. A stored credential is not "
            "sent to another host."
        )
        yield Fault.build("/credential", "credentialMissing", sentence)


# Adapters whose settings are in a file.
_WITH_SETTINGS: Final = frozenset({Adapter.OPENSUITE, Adapter.MICROSOFT365})
_ADDRESSES: Final[Mapping[Adapter, str]] = {
    Adapter.EMBEDDED: (
        "The address must be like postgresql://role@host:5432/database, without a password. Its only option is sslmode."
    ),
    Adapter.OPENSUITE: "The address must be that of an LDAP server, like ldaps://host:636, without a user or a path.",
    Adapter.MICROSOFT365: (
        "The address must be that of Microsoft Graph with the id of the directory, like "
        "https://graph.microsoft.com/11111111-2222-3333-4444-555555555555."
    ),
}


def moves(before: ConnectionSettings | None, after: ConnectionSettings | None) -> bool:
    """Return whether a change leads to another directory.

    None is no connection. A directory may move to another address with its objects.
    """
    return _directory_of(before) != _directory_of(after)


def _directory_of(settings: ConnectionSettings | None) -> tuple[Adapter, bool]:
    """Return the adapter, and whether it uses the service's database."""
    return (Adapter.EMBEDDED, True) if settings is None else (settings.adapter, settings.address is None)


def keeps_secret(before: Connection | None, after: ConnectionSettings) -> bool:
    """Return whether a connection with new settings keeps its stored credential.

    A file with the credential replaces it. The directory in the database of the service needs none. Another host does
    not get it: its server could read it, and an administrator cannot.
    """
    if before is None or not before.has_secret or after.credential_file is not None:
        return False
    return before.adapter is after.adapter and _servers(before.settings) == _servers(after) is not None


def _servers(settings: ConnectionSettings) -> tuple[tuple[str, int], ...] | None:
    return None if settings.address is None else parse_places(settings.adapter, settings.address)


def objects_managed(action: str) -> Conflict:
    """Build the error for a change of the directory of managed objects."""
    return Conflict.build(
        "inUse",
        "The tenant has managed mailboxes, groups or assignments in its present directory, so you cannot {action}. "
        "Release them first (`chamberlain release`), or send ?force=true (--force): they stay in that directory, and "
        "Chamberlain does not find them in the other one.",
        action=action,
    )


def check_connections(found: Sequence[Connection], hosts: Collection[str]) -> Sequence[HealthCheck]:
    """Report each connection with a problem, and the number of the others."""
    if not found:
        return [healthy("connections", "No tenant has a connection: all use the directory of this installation.")]
    reports = [report for each in found if (report := _check_connection(each, hosts)) is not None]
    if len(reports) == len(found):
        return reports
    return [*reports, healthy("connections", f"{len(found) - len(reports)} of {len(found)} connections are ready.")]


def _check_connection(connection: Connection, hosts: Collection[str]) -> HealthCheck | None:
    label = f"The connection of tenant {connection.tenant_id} ({connection.adapter})"
    places = None if connection.address is None else parse_places(connection.adapter, connection.address)
    if places is not None and not is_permitted(places, hosts):
        cure = "Add the host to CHAMBERLAIN_CONNECTION_HOSTS, or delete the connection."
        return fault("connections", f"{label} has a host that may not be called.", cure)
    if connection.state is ConnectionState.BROKEN and connection.reason is not None:
        return fault("connections", f"{label} is broken, and its requests wait.", connection.reason.detail)
    if connection.state is ConnectionState.READY:
        return None
    cure = "An administrator of the tenant runs `chamberlain connection check`."
    return warning("connections", f"{label} was not checked since its last change.", cure)


def connection_change(
    verb: str, before: Connection | None, after: Connection | None, editor: Editor, *, new_credential: bool = False
) -> Change:
    """Build the audit entry of a change by an administrator.

    It says that a credential was changed, and never has it.
    """
    shown = after or before
    if shown is None:
        raise LookupError("A change has a connection before or after it.")
    was, becomes = _content(before), _content(after)
    if was is not None and becomes is not None:
        was, becomes = differences(was, becomes, also={"hasCredential"} if new_credential else ())
    return change_by(editor, shown.tenant_id, f"connection.{verb}", _subject(shown), before=was, after=becomes)


def state_change(
    connection: Connection, reason: StateReason | None, editor: Editor, *, event_id: EventId, now: datetime
) -> Change:
    """Build the audit entry and the event of a changed state.

    With a reason the connection is broken, without one it is ready.
    """
    event = Event(
        id=event_id,
        type=EventType.CONNECTION_READY if reason is None else EventType.CONNECTION_BROKEN,
        timestamp=now,
        tenant_id=connection.tenant_id,
        request_id=None,
        data={
            "connection": {"id": str(connection.id), "adapter": str(connection.adapter)},
            "stateReason": None if reason is None else {"code": reason.code, "detail": reason.detail},
        },
    )
    state = ConnectionState.READY if reason is None else ConnectionState.BROKEN
    return change_by(
        editor,
        connection.tenant_id,
        "connection.ready" if reason is None else "connection.break",
        _subject(connection),
        before={"state": str(connection.state)},
        after={"state": str(state), **({} if reason is None else {"code": reason.code})},
        event=event,
    )


def _subject(connection: Connection) -> Subject:
    return Subject("connection", connection.id, str(connection.adapter))


def _content(connection: Connection | None) -> Content | None:
    if connection is None:
        return None
    return {
        "adapter": str(connection.adapter),
        "address": connection.address,
        "credentialFile": connection.credential_file,
        "hasCredential": connection.has_credential,
    }
