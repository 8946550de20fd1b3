# SPDX-License-Identifier: Apache-2.0
"""The caller of a token."""

from dataclasses import dataclass

from chamberlain.auth.models import Caller

# Open decisions are counted to this number.
MOST_TO_DECIDE = 100


@dataclass(frozen=True, slots=True)
class Me:
    """The caller with the names of caller and tenant.

    `display_name` is empty if neither the directory nor the identity platform has one. `mail` and `language` are those
    of a user in the directory, or None. `language` is a tag of RFC 5646. `to_decide` ends at MOST_TO_DECIDE.
    """

    caller: Caller
    display_name: str
    mail: str | None
    tenant_name: str
    is_administrator: bool
    language: str | None
    to_decide: int
