# SPDX-License-Identifier: Apache-2.0
"""Wire the embedded identity platform.

Our key ring encrypts its keys; its local tokens are recorded in our audit trail. Its issuers depend on the port, so
each start computes them and nothing stores them.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from starlette.routing import Router
from starlette.types import ASGIApp

from chamberlain.app.clock_and_ids import local_now, now
from chamberlain.app.databases import Databases
from chamberlain.auth.models import Actor, ActorType, ClientNames, Issuer
from chamberlain.auth.permissions import PERMISSION_WORDS
from chamberlain.auth.verifier import FindIssuer
from chamberlain.changes.models import Change, Subject
from chamberlain.changes.records import record_change
from chamberlain.core.errors import DatabaseUnavailable
from chamberlain.core.ids import ClientId, TenantId
from chamberlain.database.transactions import Database
from chamberlain.embedded.identity.clients import find_clients
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, LocalToken, issuer_of
from chamberlain.embedded.identity.server import routes
from chamberlain.embedded.identity.signing_keys import SigningKeys
from chamberlain.http.pipeline import with_whole_paths
from chamberlain.observability.logs import new_trace_id
from chamberlain.secrets.keyring import Keyring
from chamberlain.settings import Settings
from chamberlain.tenants import records as tenant_records

if TYPE_CHECKING:
    from chamberlain.core.values import Json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from chamberlain.app.directory import GRAPH_AUDIENCE
from chamberlain.auth.issuers import IssuerKeys
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.auth.verifier import Verifier
from chamberlain.database.connection import no_database
from chamberlain.embedded.identity.errors import IdentityUnreachable


def identity_base_url(settings: Settings) -> str:
    """Where the platform's addresses begin; MSAL insists on https and a path."""
    return f"{settings.tls_url}/identity"


def believed_base_url(settings: Settings) -> str | None:
    """Return the base URL of the embedded platform; None without it."""
    return identity_base_url(settings) if settings.embedded_identity else None


def make_identity_platform(
    settings: Settings, databases: Databases, keyring: Keyring, local_secret: str
) -> IdentityPlatform:
    """The platform on our database."""
    pool = databases.application.pool
    return IdentityPlatform(
        base_url=identity_base_url(settings),
        pool=pool,
        keys=SigningKeys(pool, keyring, now),
        now=now,
        token_now=local_now,
        local_secret=local_secret,
        on_local_token=_recorded(databases.application),
        organisation=_organisation(databases.application),
        permission_words=PERMISSION_WORDS,
        serves_people=settings.listens_on_loopback,
    )


def _organisation(database: Database) -> Callable[[UUID], Awaitable[str | None]]:
    """Read the name of a tenant for the sign-in pages."""

    async def organisation(tenant_id: UUID) -> str | None:
        try:
            async with database.transaction(TenantId(tenant_id)) as tx:
                tenant = await tenant_records.find(tx, TenantId(tenant_id))
        except DatabaseUnavailable as error:
            raise IdentityUnreachable(error.outage.seen) from error
        return None if tenant is None else tenant.name

    return organisation


def identity_application(platform: IdentityPlatform) -> ASGIApp:
    """Build the endpoints of the platform. Its routes are whole paths."""
    return with_whole_paths(Router(routes(platform)))


def client_names(databases: Databases) -> ClientNames:
    """Read the names of a tenant's applications at the embedded platform."""

    async def names(tenant_id: TenantId) -> Mapping[ClientId, str]:
        with identity_unavailable():
            found = await find_clients(databases.application.pool, tenant_id)
        return {ClientId(str(client.id)): client.name for client in found}

    return names


def issuer_finder(database: Database, base_url: str | None) -> FindIssuer:
    """Find issuers: those of the embedded platform, and the registered ones."""

    async def find(issuer: str, tid: str | None) -> Issuer | None:
        tenant_id = None if base_url is None or tid is None else _tenant_of(issuer, tid, base_url)
        if tenant_id is None:
            return await tenant_records.find_issuer(database, issuer, tid)
        if not await tenant_records.is_served(database, tenant_id):
            return None
        return Issuer(tenant_id=tenant_id, issuer=issuer, tid=tid, audiences={})

    return find


def embedded_issuers(base_url: str | None) -> Callable[[TenantId], tuple[Issuer, ...]]:
    """Issuers of the embedded platform, where it runs."""

    def issuers(tenant_id: TenantId) -> tuple[Issuer, ...]:
        if base_url is None:
            return ()
        issuer = issuer_of(base_url, tenant_id)
        return (Issuer(tenant_id=tenant_id, issuer=issuer, tid=str(tenant_id), audiences={}),)

    return issuers


def _tenant_of(issuer: str, tid: str, base_url: str) -> TenantId | None:
    try:
        tenant_id = UUID(tid)
    except ValueError:
        return None
    return TenantId(tenant_id) if issuer == issuer_of(base_url, tenant_id) else None


def _recorded(database: Database) -> Callable[[LocalToken], Awaitable[None]]:
    async def on_local_token(token: LocalToken) -> None:
        actor = Actor(ActorType.SYSTEM, None, "chamberlain token")
        subject = Subject(
            "user" if token.user_id else "application", token.user_id or token.client_id, token.display_name
        )
        after: dict[str, Json] = {
            "resource": token.resource,
            "names": list(token.names),
            "expiresAt": token.expires_at.isoformat(timespec="seconds"),
        }
        change = Change(
            tenant_id=TenantId(token.tenant_id),
            action="token.issue",
            actor=actor,
            client_id=ClientId(str(token.client_id)),
            subject=subject,
            before=None,
            after=after,
            request_id=None,
            trace_id=new_trace_id(),
        )
        async with database.transaction(change.tenant_id) as tx:
            await record_change(tx, change)

    return on_local_token


@dataclass(frozen=True, slots=True)
class Trust:
    """Trusted issuers, and the names of their permissions."""

    find_issuer: FindIssuer
    keys: IssuerKeys
    prefixes: ScopePrefixes

    def verifier(self, audiences: frozenset[str]) -> Verifier:
        """Proves tokens for these audiences."""
        return Verifier(audiences, self.find_issuer, self.keys, local_now)


def make_trust(settings: Settings, databases: Databases, authority_pem: str | None) -> Trust:
    """Build the trust in the issuers of all tenants.

    The authority is that of our own certificate, for the embedded platform if it runs.
    """
    return Trust(
        find_issuer=issuer_finder(databases.application, believed_base_url(settings)),
        keys=IssuerKeys(local_now, authority_pem=authority_pem),
        prefixes=ScopePrefixes(settings.scope_prefix, settings.insiders_scope_prefix, GRAPH_AUDIENCE),
    )


@contextmanager
def identity_unavailable() -> Iterator[None]:
    """Raises Unavailable where the platform cannot reach its database."""
    try:
        yield
    except IdentityUnreachable as error:
        raise no_database(error.__cause__ or error) from error
