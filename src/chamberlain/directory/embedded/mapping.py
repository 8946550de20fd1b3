# SPDX-License-Identifier: Apache-2.0
"""Map marks, object ids and errors between port and embedded directory."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha1
from typing import Protocol
from uuid import UUID

from chamberlain.core.errors import Cause, Rejected, TryAgain
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.core.reasons import UNCODED, Reason
from chamberlain.embedded.directory import faults
from chamberlain.embedded.directory.entries import Mark
from chamberlain.embedded.directory.errors import NotNow, NotYet, Refused, Throttled

# The member of the extension attribute that identifies a group or mailbox.
KEY_MEMBER = "requestId"
# The member with the metadata of a group's request.
METADATA_MEMBER = "metadata"


class Reference(Protocol):
    """The request of an object, and the extension attribute of its mark."""

    @property
    def tenant_id(self) -> TenantId: ...

    @property
    def extension(self) -> str: ...

    @property
    def request_id(self) -> RequestId: ...


class KnownReference(Reference, Protocol):
    """A reference with the id of the object, if it is known."""

    @property
    def id(self) -> UUID | None: ...


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
        raise TryAgain(error.after, _reason(error), _cause(error)) from error


# The sentences of the embedded directory that have codes.
_CODES: Mapping[str, str] = {
    faults.NOT_SHOWN: "groupNotVisible",
    faults.NOT_FOUND: "groupNotFoundById",
    faults.MAILBOX_NOT_SHOWN: "mailboxNotVisible",
    faults.MAILBOX_NOT_FOUND: "mailboxNotFoundById",
    faults.TOO_MANY: "directoryBusy",
    faults.AWAY: "directoryNotAvailable",
}


def _cause(error: NotNow) -> Cause:
    match error:
        case NotYet():
            return Cause.NOT_YET
        case Throttled():
            return Cause.BUSY
        case _:
            return Cause.AWAY


def _reason(error: NotNow) -> Reason:
    code = _CODES.get(str(error))
    return Reason.build(UNCODED, problem=str(error)) if code is None else Reason.build(code)


def rejected(refused: Refused) -> Rejected:
    """Map a refusal."""
    return Rejected(refused.code, refused.detail)
