# SPDX-License-Identifier: Apache-2.0
"""Wire models that several nouns share."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from chamberlain.auth.models import ActorType
from chamberlain.core.errors import Fault as RecordedFault
from chamberlain.core.sentences import Values

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"}, description="UTC, with milliseconds")]


class Fault(Struct, frozen=True, omit_defaults=True):
    """One fault of a body: JSON Pointer, stable code and fix.

    `values` has the numbers and words of `detail` by name. The error reference lists the names of each code.
    """

    pointer: str
    code: str
    detail: str
    values: Values = {}


def encode_fault(fault: RecordedFault) -> Fault:
    """Encode a fault."""
    return Fault(fault.pointer, fault.code, fault.detail, fault.values)


class Actor(Struct, rename="camel", frozen=True):
    """The actor of a change; `id` is null for the service itself."""

    type: ActorType
    id: UUID | None
    display_name: str
