# SPDX-License-Identifier: Apache-2.0
"""Idempotency keys, and the calls that carry them."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.core.ids import TraceId
from chamberlain.core.values import value


@value(frozen=True, slots=True)
class IdempotencyKey:
    """A caller's idempotency key.

    The digest covers method, path, query and the body as a JSON value.
    """

    key: str
    digest: bytes


@value(frozen=True, slots=True)
class Submission:
    """A submission: raw JSON body, idempotency key, trace id and client address."""

    body: bytes
    idempotency: IdempotencyKey | None
    trace_id: TraceId
    client_address: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """An action on an object: comment, idempotency key and trace id.

    `client_address` is None for actions outside HTTP.
    """

    comment: str | None
    idempotency: IdempotencyKey | None
    trace_id: TraceId
    client_address: str | None = None

    @property
    def said(self) -> Mapping[str, str]:
        """Return the part for the audit trail."""
        return {} if self.comment is None else {"comment": self.comment}


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The body of a response.

    `replayed` is true for a retry with the same idempotency key.
    """

    body: bytes
    replayed: bool = False
