"""Map marks, object ids and errors between port and embedded directory."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from typing import Protocol
from uuid import UUID

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.embedded.directory.entries import Mark
from chamberlain.embedded.directory.errors import NotNow, Refused

# The member of the extension attribute that identifies a group or mailbox.
KEY_MEMBER = "requestId"


class Reference(Protocol):
    """The request of an object, and the extension attribute of its mark."""

    @property
    def tenant_id(self) -> TenantId: ...

    @property
    def extension(self) -> str: ...

    @property
    def request_id(self) -> RequestId: ...


def mark_of(reference: Reference) -> Mark:
    """Return the mark of the request's object."""
    return Mark(reference.tenant_id, reference.extension, str(reference.request_id))


def object_id_of(reference: Reference) -> UUID:
    """Derive the id of a new object from its request.

    So provisioning is idempotent. The id starts with the first bytes of the request's id, so that
    objects are stored in the order of their requests. The rest is a digest of the request, its tenant and the extension
    (a version 8 UUID, RFC 9562).
    """
    own = reference.request_id.bytes
    key = own + f"{reference.tenant_id}/{reference.extension}".encode()
    digest = sha1(key, usedforsecurity=False).digest()
    marked = bytes((digest[6] & 0x0F | 0x80, digest[7], digest[8] & 0x3F | 0x80))
    return UUID(bytes=own[:6] + marked + digest[9:16])


@contextmanager
def port_errors() -> Iterator[None]:
    """Raise TryAgain for every error that a retry can solve."""
    try:
        yield
    except NotNow as error:
        raise TryAgain(error.after, str(error)) from error


def rejected(refused: Refused) -> Rejected:
    """Map a refusal."""
    return Rejected(refused.code, refused.detail)
