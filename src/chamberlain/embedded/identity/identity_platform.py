"""What the endpoints stand on, put together once by whoever starts the platform."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from chamberlain.embedded.identity.database import Pool
from chamberlain.embedded.identity.passwords import PasswordVerifier
from chamberlain.embedded.identity.signing_keys import SigningKeys


@dataclass(frozen=True, slots=True)
class LocalToken:
    """A token that was given out on this machine without a sign-in, for the record: to whom, for what, until when.

    `user_id` is None for a program's own token.
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
    """`base_url` is the address under which the routes are reached, such as https://localhost:8366/identity.

    Whoever knows `local_secret` and is on this machine gets tokens without a sign-in; `on_local_token` is called before
    each of them is handed out. The pool is the application's. Where `serves_people` is False, programs alone get
    tokens: people of an example are nobody's, and must not be found where strangers can reach them.

    Rows go by `now`. Tokens go by `token_now`, the clock that this process verifies them with.
    """

    base_url: str
    pool: Pool
    keys: SigningKeys
    now: Callable[[], datetime]
    token_now: Callable[[], datetime]
    local_secret: str = field(repr=False)
    on_local_token: OnLocalToken
    secrets: PasswordVerifier = field(default_factory=PasswordVerifier)
    serves_people: bool = True


def issuer_of(base_url: str, tenant_id: UUID) -> str:
    """The issuer of a tenant's tokens."""
    return f"{base_url}/{tenant_id}/v2.0"
