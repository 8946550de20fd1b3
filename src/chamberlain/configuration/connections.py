# SPDX-License-Identifier: Apache-2.0
"""Read and plan the connections of configuration files.

A file never has a credential, only the name of a file with it. A stored credential that a file cannot show stays.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from chamberlain.changes.models import Content, differences
from chamberlain.configuration.rules import ChangeVerb, ConfigurationNoun, PlannedChange
from chamberlain.connections.models import Adapter, Connection, ConnectionSettings
from chamberlain.connections.rules import connection_faults, keeps_secret, moves
from chamberlain.connections.schema import Address, FileName
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.fields import Shape
from chamberlain.core.ids import TenantId
from chamberlain.core.validation import Reader


class ConnectionShape(Shape, frozen=True, kw_only=True):
    """A whole connection, without its credential.

    Without an address, it is the directory in the database of the service.
    """

    adapter: Adapter
    address: Address | None = None
    credential_file: FileName | None = None


_CONNECTION = Reader(ConnectionShape)


def read_connection(value: object, pointer: str) -> ConnectionSettings | None:
    """Read the connection of a tenant; null is none.

    Raises BodyInvalid with all faults.
    """
    if value is None:
        return None
    faults: list[Fault] = []
    if isinstance(value, dict) and "credential" in value:
        value = {name: each for name, each in value.items() if name != "credential"}
        sentence = (
            "A configuration document must not contain a credential. Remove it, and name a file in credentialFile, or "
            "store it with `chamberlain connection add --credential-stdin`."
        )
        faults.append(Fault.build(f"{pointer}/credential", "credentialInFile", sentence))
    try:
        shape = _CONNECTION.read_value(value, pointer)
    except BodyInvalid as error:
        raise BodyInvalid([*faults, *error.faults], are_truncated=error.are_truncated) from error
    if faults:
        raise BodyInvalid(faults)
    return ConnectionSettings(shape.adapter, shape.address, shape.credential_file)


def connection_document(connection: Connection) -> Content:
    """Write a connection as a section of a file, without its credential."""
    return {
        "adapter": str(connection.adapter),
        "address": connection.address,
        "credentialFile": connection.credential_file,
    }


@dataclass(frozen=True, slots=True)
class PlannedConnection:
    """The planned change of a connection, and the faults of its entry.

    The change is None if the connection stays.
    """

    change: PlannedChange | None
    faults: tuple[Fault, ...]


def plan_connection(
    tenant_id: TenantId,
    wanted: ConnectionSettings | None,
    before: Connection | None,
    *,
    hosts: Collection[str],
    manages: bool,
) -> PlannedConnection:
    """Plan the change to a wanted connection; None removes it.

    A connection that stays is not validated. `manages`: the tenant has managed objects in its present directory. A new
    connection has no id before it exists, so its change has the id of the tenant.
    """
    old = None if before is None else _content(before.settings, has_secret=before.has_secret)
    new = None if wanted is None else _content(wanted, has_secret=keeps_secret(before, wanted))
    if old == new:
        return PlannedConnection(None, ())
    faults = tuple(_faults(wanted, before, hosts=hosts, manages=manages))
    verb = ChangeVerb.CREATE if old is None else ChangeVerb.REMOVE if new is None else ChangeVerb.CHANGE
    shown = wanted or before
    name = "" if shown is None else str(shown.adapter)
    if old is not None and new is not None:
        old, new = differences(old, new)
    id_ = tenant_id if before is None else before.id
    return PlannedConnection(PlannedChange(tenant_id, verb, ConfigurationNoun.CONNECTION, id_, name, old, new), faults)


def _content(settings: ConnectionSettings, *, has_secret: bool) -> Content:
    return {
        "adapter": str(settings.adapter),
        "address": settings.address,
        "credential": "***" if has_secret else None,
        "credentialFile": settings.credential_file,
    }


def _faults(
    wanted: ConnectionSettings | None, before: Connection | None, *, hosts: Collection[str], manages: bool
) -> Iterator[Fault]:
    if wanted is not None:
        has_secret = keeps_secret(before, wanted)
        found = connection_faults(
            wanted.adapter,
            wanted.address,
            has_credential=has_secret or wanted.credential_file is not None,
            has_secret=has_secret,
            hosts=hosts,
        )
        yield from (_in_file(each, wanted.adapter) for each in found)
    if manages and moves(None if before is None else before.settings, wanted):
        sentence = (
            "The tenant has managed mailboxes, groups or assignments in its present directory, so a file cannot "
            "connect it to another one. Release them first (`chamberlain release`)."
        )
        yield Fault.build("/connection", "inUse", sentence)


def _in_file(fault: Fault, adapter: Adapter) -> Fault:
    """Convert a fault of the API, whose body may have a credential."""
    if fault.pointer != "/credential":
        return replace(fault, pointer=f"/connection{fault.pointer}")
    pointer = "/connection/credentialFile"
    if fault.code != "credentialMissing" or adapter is not Adapter.EMBEDDED:
        return replace(fault, pointer=pointer)
    sentence = (
        "A connection with an address needs a credential. Name a file in credentialFile, or store a credential with "
        "`chamberlain connection add --credential-stdin`."
    )
    return Fault.build(pointer, "credentialMissing", sentence)
