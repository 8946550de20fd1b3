"""Idempotency keys, and calls that carry one."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.core.ids import TraceId
from chamberlain.core.values import value


@value(frozen=True, slots=True)
class IdempotencyKey:
    """A caller's key, and the digest of what was asked under it: method, path, query and the body as a JSON value."""

    key: str
    digest: bytes


@value(frozen=True, slots=True)
class Submission:
    """How a request came in: its body as it was sent (JSON), the key if one was sent, the trace it belongs to, and the
    address of the caller."""

    body: bytes
    idempotency: IdempotencyKey | None
    trace_id: TraceId
    client_address: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """How an action comes in: what the caller says to it, the key if one was sent, and the trace it belongs to.

    `client_address` is the caller's, None for what does not come over HTTP.
    """

    comment: str | None
    idempotency: IdempotencyKey | None
    trace_id: TraceId
    client_address: str | None = None

    @property
    def said(self) -> Mapping[str, str]:
        """What the audit trail keeps of it."""
        return {} if self.comment is None else {"comment": self.comment}


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The body of an answer as it was sent, and whether that was in answer to an earlier call with the same key."""

    body: bytes
    replayed: bool = False
