# SPDX-License-Identifier: Apache-2.0
"""Connections as they are sent."""

from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from chamberlain.changes.models import format_time
from chamberlain.connections.models import Adapter, ConnectionOrder, ConnectionState, Credential
from chamberlain.connections.models import Connection as Found
from chamberlain.connections.schema import Address, FileName
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.fields import Shape, line
from chamberlain.core.validation import Reader
from chamberlain.http.request import Parameter
from chamberlain.http.wire import Time

Secret = Annotated[str, line(4096, 1)]


class NewConnectionBody(Shape, frozen=True, kw_only=True):
    """A connection to add.

    Without an address, it is the directory in the database of the service.
    """

    adapter: Adapter
    address: Address | None = None
    credential: Secret | None = None
    credential_file: FileName | None = None


class ConnectionBody(Shape, frozen=True, kw_only=True):
    """Parts of a connection to change. A missing part stays."""

    adapter: Adapter | UnsetType = UNSET
    address: Address | UnsetType = UNSET
    credential: Secret | UnsetType = UNSET
    credential_file: FileName | UnsetType = UNSET


NEW_CONNECTION = Reader(NewConnectionBody)
CONNECTION = Reader(ConnectionBody)

FORCE = Parameter(
    "force",
    {"type": "boolean"},
    "`true` changes the directory although the tenant has managed objects. They stay in the present directory, and "
    "the service no longer finds them.",
)


class ConnectionReason(Struct, rename="camel", frozen=True):
    """The reason of a broken connection; `detail` says how to repair it."""

    code: str
    detail: str


class Connection(Struct, rename="camel", frozen=True):
    """The connection of a tenant to its directory.

    `stateReason` is null unless it is broken. `abilities` and `limits` are those of the last passed check. The
    credential is never shown.
    """

    id: UUID
    adapter: Adapter
    address: str | None
    has_credential: bool
    credential_file: str | None
    state: ConnectionState
    state_reason: ConnectionReason | None
    checked_at: Time | None
    abilities: tuple[str, ...]
    limits: Annotated[dict[str, int | str], Meta(description="Limits of the directory by name.")]
    created_at: Time
    updated_at: Time


class ConnectionPage(Struct, rename="camel", frozen=True):
    """The connections of the tenant: at most one, so `nextCursor` is null."""

    items: tuple[Connection, ...]
    next_cursor: str | None


def to_new_order(body: NewConnectionBody) -> ConnectionOrder:
    """Convert the body of a new connection. Raises BodyInvalid."""
    return ConnectionOrder(body.adapter, body.address, _credential(body.credential, body.credential_file))


def to_order(body: ConnectionBody) -> ConnectionOrder:
    """Convert the body of a change. Raises BodyInvalid."""
    return ConnectionOrder(
        adapter=None if body.adapter is UNSET else body.adapter,
        address=None if body.address is UNSET else body.address,
        credential=_credential(
            None if body.credential is UNSET else body.credential,
            None if body.credential_file is UNSET else body.credential_file,
        ),
    )


def _credential(secret: str | None, file: str | None) -> Credential | None:
    if secret is not None and file is not None:
        sentence = "{property} and credential exclude each other. Send one of them."
        raise BodyInvalid((Fault.build("/credentialFile", "notTogether", sentence, property="credentialFile"),))
    return None if secret is None and file is None else Credential(secret, file)


def connection_of(found: Found) -> Connection:
    """Encode a connection for administrators."""
    reason = found.reason
    return Connection(
        id=found.id,
        adapter=found.adapter,
        address=found.address,
        has_credential=found.has_credential,
        credential_file=found.credential_file,
        state=found.state,
        state_reason=None if reason is None else ConnectionReason(reason.code, reason.detail),
        checked_at=None if found.checked_at is None else format_time(found.checked_at),
        abilities=found.described.abilities,
        limits=dict(found.described.limits),
        created_at=format_time(found.created_at),
        updated_at=format_time(found.updated_at),
    )
