# SPDX-License-Identifier: Apache-2.0
"""Resources with their metadata, and the operations that each resource type has."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Protocol
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.scim.schemas import Json, ResourceKind


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource without its metadata.

    `computed` are read-only attributes that change with other resources, and `etag` is the weak entity tag. The times
    are None if they are unknown: no SCIM client has written the object.
    """

    id: UUID
    document: Json
    etag: str
    created_at: datetime | None
    changed_at: datetime | None
    computed: Json

    def shown(self, kind: ResourceKind, root: str) -> Json:
        """Return the whole resource, with its metadata.

        `root` is the address of `/scim/v2`.
        """
        meta: Json = {"resourceType": kind.name}
        for name, time in (("created", self.created_at), ("lastModified", self.changed_at)):
            if time is not None:
                meta[name] = time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        meta |= {"location": f"{root}{kind.endpoint}/{self.id}", "version": self.etag}
        return {
            "schemas": self.document["schemas"],
            "id": str(self.id),
            **{name: value for name, value in self.document.items() if name != "schemas"},
            **self.computed,
            "meta": meta,
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """The wanted resources, in the order of ids.

    They have these values; None means any. `name` is the user name of people and the display name of groups.
    """

    id: UUID | None = None
    external_id: str | None = None
    name: str | None = None
    member_id: UUID | None = None
    after: UUID | None = None
    offset: int = 0
    most: int | None = None


def weak_etag(content: object) -> str:
    """Return the weak entity tag of a JSON value: a digest."""
    encoded = msgspec.json.encode(content, order="deterministic")
    return f'W/"{sha256(encoded).hexdigest()[:32]}"'


class Collection(Protocol):
    """The users or the groups of the tenants.

    The functions take the connection of a transaction. `root` is the address of `/scim/v2`.
    """

    @property
    def kind(self) -> ResourceKind: ...

    @property
    def further(self) -> str:
        """The attribute that `complete` adds by a statement of its own."""
        ...

    async def count(self, connection: Connection, tenant_id: UUID) -> int:
        """Count all resources of a tenant."""
        ...

    async def read(
        self, connection: Connection, tenant_id: UUID, selection: Selection, root: str
    ) -> Sequence[Resource]:
        """Read resources in the order of their ids, without `further`."""
        ...

    async def complete(
        self, connection: Connection, tenant_id: UUID, resources: Sequence[Resource], root: str
    ) -> Sequence[Resource]:
        """Add the attributes named in `further`."""
        ...

    async def lock(self, connection: Connection, tenant_id: UUID, id_: UUID) -> None:
        """Lock a resource until the end of the transaction."""
        ...

    async def create(self, connection: Connection, tenant_id: UUID, id_: UUID, document: Json) -> None:
        """Create a resource. Raises ScimFault and WriteRefused."""
        ...

    async def replace(self, connection: Connection, tenant_id: UUID, before: Resource, document: Json) -> None:
        """Write the changes of a resource. Raises ScimFault and WriteRefused."""
        ...

    async def delete(self, connection: Connection, tenant_id: UUID, id_: UUID) -> None:
        """Delete a resource. Raises WriteRefused."""
        ...
