# SPDX-License-Identifier: Apache-2.0
"""Sessions of browsers, and the tokens in them."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from chamberlain.core.ids import TenantId, UserId

# A working day. An unattended browser is signed out after an hour.
LIFE = timedelta(hours=8)
IDLE_LIFE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that an issuer gave for a user.

    `until` is the end of the access token. `refresh` and `identity` are empty if the issuer gave none.
    """

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    identity: str = field(repr=False)
    until: datetime


@dataclass(frozen=True, slots=True)
class Session:
    """The session of a browser in which a user has signed in."""

    tenant_id: TenantId
    user_id: UserId
    digest: bytes
    secret: str = field(repr=False)
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A session in the list of a user."""

    digest: bytes
    browser: str
    created_at: datetime
    used_at: datetime


def context_of(digest: bytes) -> str:
    """Return the context that the tokens of a session are encrypted for."""
    return f"console_session {digest.hex()}"
