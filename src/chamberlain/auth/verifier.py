# SPDX-License-Identifier: Apache-2.0
"""Verify bearer tokens and return their callers."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import NAMESPACE_URL, UUID, uuid5

import structlog
from joserfc import jws
from joserfc.errors import JoseError
from msgspec import UNSET, UnsetType

from chamberlain.auth.issuers import IssuerKeys, Key
from chamberlain.auth.models import ActorType, Caller, Issuer
from chamberlain.auth.tokens import (
    Claims,
    Contradiction,
    Header,
    Names,
    absolute_names,
    classify,
    client_ids,
    read_roles,
    read_token,
    token_invalid,
)
from chamberlain.core.errors import Unauthenticated
from chamberlain.core.ids import ClientId

# Asymmetric only: without shared secrets, no public key can be misused as one.
_ALGORITHMS = ("RS256", "ES256")
_TYPES = ("JWT", "AT+JWT", "APPLICATION/AT+JWT")
# Tolerated clock skew; the API description names the figure.
_LEEWAY = timedelta(seconds=60)
# Cache time of a caller. A revoked registration is noticed after it.
_TRUSTED_FOR = timedelta(seconds=60)
_LONGEST_AUTHORIZATION = 16 * 1024
_MOST_VERIFIED = 10_000
# A misconfigured client repeats its token. One line a minute is enough to find it.
_BETWEEN_LOG_LINES = timedelta(minutes=1)
_MOST_CONTRADICTIONS = 1_000
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_log = structlog.get_logger()

FindIssuer = Callable[[str, str | None], Awaitable[Issuer | None]]


class Verifier:
    """Verify bearer tokens for one set of audiences.

    These are the audiences of the API, or that of the directory. Results are cached for at most a minute by the digest
    of the header, so that no token stays in memory.
    """

    def __init__(
        self,
        audiences: frozenset[str],
        find_issuer: FindIssuer,
        keys: IssuerKeys,
        now: Callable[[], datetime],
        *,
        most_remembered: int = _MOST_VERIFIED,
    ) -> None:
        self._audiences = audiences
        self._find_issuer = find_issuer
        self._keys = keys
        self._now = now
        self._most_remembered = most_remembered
        self._verified: dict[bytes, _Verified] = {}
        self._contradictions: dict[tuple[str, str | None], datetime] = {}

    async def verify(self, authorization: str | None) -> Caller:
        """Return the caller of an Authorization header."""
        if authorization is None:
            raise _token_missing()
        if len(authorization) > _LONGEST_AUTHORIZATION:
            raise token_invalid(f"The header Authorization is longer than {_LONGEST_AUTHORIZATION} characters.")
        digest = sha256(authorization.encode("utf-8", "surrogatepass")).digest()
        verified = self._verified.get(digest)
        now = self._now()
        if verified is not None and now < verified.until:
            return verified.caller
        self._verified.pop(digest, None)
        caller = await self._prove(_bearer(authorization), now)
        self._remember(digest, caller, now)
        return caller

    async def _prove(self, token: str, now: datetime) -> Caller:
        header, claims = read_token(token)
        _check_header(header)
        issuer = await self._registered_issuer(claims)
        _check_signature(token, await self._key(issuer, header))
        expires_at = _check_times(claims, now)
        audience, shared = self._audience(claims, issuer)
        caller_type = self._caller_type(claims, issuer, now)
        caller_id = _object_id(claims, issuer, caller_type)
        names = _scopes(claims) if caller_type is ActorType.USER else read_roles(claims)
        return Caller(
            tenant_id=issuer.tenant_id,
            type=caller_type,
            id=caller_id,
            client_id=_client_id(claims, caller_id, caller_type),
            permissions=absolute_names(audience, names, shared=shared),
            expires_at=expires_at,
        )

    async def _registered_issuer(self, claims: Claims) -> Issuer:
        tid = None if claims.tid is UNSET else claims.tid
        issuer = await self._find_issuer(claims.iss, tid)
        # An issuer of one tenant may omit `tid`; a `tid` in the token must be the registered one.
        if issuer is None or issuer.issuer != claims.iss or (tid is not None and tid != issuer.tid):
            raise token_invalid("The issuer of the bearer token is not registered with a tenant here.")
        return issuer

    async def _key(self, issuer: Issuer, header: Header) -> Key:
        if header.kid is UNSET:
            raise token_invalid("The bearer token does not name the key that it is signed with (kid).")
        key = await self._keys.find(issuer.issuer, header.kid, header.alg)
        if key is None:
            raise token_invalid("The bearer token is signed with a key that its issuer does not publish.")
        return key

    def _audience(self, claims: Claims, issuer: Issuer) -> tuple[str, bool]:
        """Return the audience of the service, and whether the token has others."""
        named = (claims.aud,) if isinstance(claims.aud, str) else claims.aud
        addresses = {name if name in self._audiences else issuer.audiences.get(name) for name in named}
        ours = self._audiences & addresses
        if len(ours) != 1:
            raise Unauthenticated(
                "audienceUnknown",
                "The bearer token is for another service, or for several of ours. Ask for one of these audiences: "
                f"{', '.join(sorted(self._audiences))}.",
            )
        (audience,) = ours
        return audience, len(addresses) > 1

    def _caller_type(self, claims: Claims, issuer: Issuer, now: datetime) -> ActorType:
        try:
            caller_type = classify(claims)
        except Contradiction as error:
            self._log_contradiction(claims, issuer, str(error), now)
            raise token_invalid(f"The bearer token contradicts itself. {error}") from error
        if caller_type is None:
            raise token_invalid("The bearer token is for neither a user (scp) nor an application (idtyp).")
        return caller_type

    def _log_contradiction(self, claims: Claims, issuer: Issuer, reason: str, now: datetime) -> None:
        """Log a contradiction once a minute for each client.

        The token is signed, so the administrator has to configure its provider.
        """
        client = next(iter(client_ids(claims)), None)
        key = (issuer.issuer, client)
        last = self._contradictions.pop(key, None)
        while len(self._contradictions) >= _MOST_CONTRADICTIONS:
            del self._contradictions[next(iter(self._contradictions))]
        if last is None or now - last >= _BETWEEN_LOG_LINES:
            last = now
            _log.warning(
                "token contradicts itself",
                issuer=issuer.issuer,
                tenant=str(issuer.tenant_id),
                client=client,
                reason=reason,
            )
        self._contradictions[key] = last

    def _remember(self, digest: bytes, caller: Caller, now: datetime) -> None:
        while len(self._verified) >= self._most_remembered:
            del self._verified[next(iter(self._verified))]
        self._verified[digest] = _Verified(min(caller.expires_at + _LEEWAY, now + _TRUSTED_FOR), caller)


@dataclass(frozen=True, slots=True)
class _Verified:
    until: datetime
    caller: Caller


def _signature_registry() -> jws.JWSRegistry:
    """Return a registry that validates only the algorithm.

    The header was validated before.
    """
    registry = jws.JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
    registry.header_registry = {}
    registry.max_header_length = _LONGEST_AUTHORIZATION
    registry.max_signature_length = _LONGEST_AUTHORIZATION
    return registry


_REGISTRY = _signature_registry()


def _token_missing() -> Unauthenticated:
    return Unauthenticated("tokenMissing", "Send a bearer token in the header: Authorization: Bearer <token>.")


def _bearer(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise _token_missing()
    return token.strip(" ")


def _check_header(header: Header) -> None:
    if header.alg not in _ALGORITHMS:
        raise token_invalid(f"The bearer token must be signed with {' or '.join(_ALGORITHMS)}.")
    if header.typ is not UNSET and header.typ.upper() not in _TYPES:
        raise token_invalid("The bearer token is not an access token.")
    # The service knows no critical extension (RFC 7515, 4.1.11).
    if header.crit is not UNSET or header.b64 is not UNSET:
        raise token_invalid("The bearer token requires an extension that this service does not support.")


def _check_signature(token: str, key: Key) -> None:
    try:
        jws.deserialize_compact(token, key, registry=_REGISTRY)
    except (JoseError, RecursionError) as error:
        raise token_invalid("The signature of the bearer token is wrong.") from error


def _check_times(claims: Claims, now: datetime) -> datetime:
    try:
        expires_at = datetime.fromtimestamp(claims.exp, UTC)
        valid_from = None if claims.nbf is UNSET else datetime.fromtimestamp(claims.nbf, UTC)
        ends_at = expires_at + _LEEWAY
    except (OverflowError, ValueError, OSError) as error:
        raise token_invalid("A time in the bearer token is out of bounds.") from error
    if now >= ends_at:
        raise Unauthenticated("tokenExpired", "The bearer token has expired. Get a new one and send the request again.")
    if valid_from is not None and valid_from - now > _LEEWAY:
        raise token_invalid("The bearer token is not valid yet.")
    return expires_at


def _scopes(claims: Claims) -> tuple[str, ...]:
    names: Names | UnsetType = claims.scope if claims.scp is UNSET else claims.scp
    if names is UNSET:
        return ()
    return tuple(names.split()) if isinstance(names, str) else names


def _object_id(claims: Claims, issuer: Issuer, caller_type: ActorType) -> UUID:
    """Return the id of the caller.

    That of an application may be derived: the directory need not know it.
    """
    for name in (claims.oid, claims.sub):
        if name is not UNSET:
            if _UUID.fullmatch(name) is not None:
                return UUID(name)
            if caller_type is ActorType.APPLICATION and name in client_ids(claims):
                return uuid5(NAMESPACE_URL, f"{issuer.issuer}#{issuer.tid or ''}#{name}")
            break
    raise token_invalid("The bearer token does not name the user or application by an object id (oid).")


def _client_id(claims: Claims, caller_id: UUID, caller_type: ActorType) -> ClientId:
    for name in client_ids(claims):
        return ClientId(name)
    if caller_type is ActorType.APPLICATION:
        return ClientId(str(caller_id))
    raise token_invalid("The bearer token does not name the application that asks for the user (azp).")
