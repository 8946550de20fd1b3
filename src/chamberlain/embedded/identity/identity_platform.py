# SPDX-License-Identifier: Apache-2.0
"""Dependencies of the endpoints, created once at the start."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from chamberlain.embedded.identity.database import Pool
from chamberlain.embedded.identity.errors import AccessDenied
from chamberlain.embedded.identity.hashing import PasswordVerifier
from chamberlain.embedded.identity.signing_keys import SigningKeys


@dataclass(frozen=True, slots=True)
class LocalToken:
    """Audit record of a token that was issued without a sign-in.

    `user_id` is None for a token of the client itself.
    """

    tenant_id: UUID
    user_id: UUID | None
    client_id: UUID
    display_name: str
    resource: str
    names: tuple[str, ...]
    expires_at: datetime


OnLocalToken = Callable[[LocalToken], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class IdentityPlatform:
    """Configuration and dependencies. `base_url` is the public URL of the routes: https://localhost:8366/identity.

    A caller on this machine that knows `local_secret` gets tokens without a sign-in. `on_local_token` is called before
    each of these is returned. The pool has the application's role. With `serves_people` False only clients get tokens:
    the example users must not be reachable from other machines.

    `organisation` returns the name of a tenant, or None. `permission_words` describe permissions to users, by the names
    that are relative to the resource; the page shows the name of any other permission.

    `now` is the clock of the rows. `token_now` is the clock of the tokens, with which this process verifies them.
    """

    base_url: str
    pool: Pool
    keys: SigningKeys
    now: Callable[[], datetime]
    token_now: Callable[[], datetime]
    local_secret: str = field(repr=False)
    on_local_token: OnLocalToken
    organisation: Callable[[UUID], Awaitable[str | None]]
    permission_words: Mapping[str, str] = field(default_factory=dict)
    passwords: PasswordVerifier = field(default_factory=PasswordVerifier)
    serves_people: bool = True

    def require_users(self) -> None:
        """Raises AccessDenied where users cannot sign in."""
        if not self.serves_people:
            raise AccessDenied("Other machines can reach this service, so the example users cannot sign in here.")


def issuer_of(base_url: str, tenant_id: UUID) -> str:
    """Return the issuer of a tenant's tokens."""
    return f"{base_url}/{tenant_id}/v2.0"
