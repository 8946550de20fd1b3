# SPDX-License-Identifier: Apache-2.0
"""Parse and classify bearer tokens, before their verification."""

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from chamberlain.auth.models import ActorType
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.core.errors import Unauthenticated

# Without control characters: claims are stored and looked up, and no text in PostgreSQL has a NUL.
Line = Annotated[str, Meta(pattern=r"^[^\u0000-\u001f\u007f-\u009f]*(?![\s\S])")]
# Some platforms send names as an array, the standard joins them by spaces (RFC 8693, 4.2).
Names = Line | tuple[Line, ...]

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class Header(Struct, frozen=True):
    """The relevant part of a header.

    Keys and addresses in it are ignored.
    """

    alg: str
    kid: str | UnsetType = UNSET
    typ: str | UnsetType = UNSET
    crit: Raw | UnsetType = UNSET
    b64: Raw | UnsetType = UNSET


class Claims(Struct, frozen=True):
    """The claims that the service reads; it ignores all others.

    `roles` counts for applications only, and the last five only tell users from applications. Their type does not
    matter where they do not count, hence Raw.
    """

    iss: Line
    aud: Line | tuple[Line, ...]
    exp: float
    nbf: float | UnsetType = UNSET
    sub: Line | UnsetType = UNSET
    oid: Line | UnsetType = UNSET
    tid: Line | UnsetType = UNSET
    azp: Line | UnsetType = UNSET
    appid: Line | UnsetType = UNSET
    client_id: Line | UnsetType = UNSET
    cid: Line | UnsetType = UNSET
    idtyp: Line | UnsetType = UNSET
    scp: Names | UnsetType = UNSET
    scope: Names | UnsetType = UNSET
    roles: Raw | UnsetType = UNSET
    sid: Raw | UnsetType = UNSET
    uid: Raw | UnsetType = UNSET
    preferred_username: Raw | UnsetType = UNSET
    upn: Raw | UnsetType = UNSET
    unique_name: Raw | UnsetType = UNSET


def read_token(token: str) -> tuple[Header, Claims]:
    """Parse header and claims of a signed token in compact form."""
    if _COMPACT.fullmatch(token) is None:
        raise token_invalid("The bearer token is not a signed JSON Web Token.")
    header, claims, _ = token.split(".")
    return _read(header, Header), _read(claims, Claims)


def read_roles(claims: Claims) -> tuple[str, ...]:
    """Parse the roles of an application."""
    if claims.roles is UNSET:
        return ()
    try:
        return msgspec.json.decode(claims.roles, type=tuple[Line, ...])
    except msgspec.MsgspecError as error:
        raise token_invalid("The claim roles of the bearer token is not a list of names.") from error


def token_invalid(detail: str) -> Unauthenticated:
    """Build the refusal of an invalid token."""
    return Unauthenticated("tokenInvalid", detail)


_Part = TypeVar("_Part", Header, Claims)


def _read(segment: str, part: type[_Part]) -> _Part:
    try:
        return msgspec.json.decode(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)), type=part)
    except (ValueError, RecursionError) as error:
        problem = "cannot be read, or a value in it is missing or mistyped"
        raise token_invalid(f"The {part.__name__.lower()} of the bearer token {problem}.") from error


# Platforms may register the parts of the API as separate resources.
_SEGMENTS = ("", "/collab", "/mail", "/admin")


def api_audiences(prefixes: ScopePrefixes) -> frozenset[str]:
    """Return the audiences of the API.

    The directory has its own.
    """
    return frozenset(
        f"{prefix}{segment}"
        for prefix in (prefixes.scope_prefix, prefixes.insiders_scope_prefix)
        for segment in _SEGMENTS
    )


def absolute_names(audience: str, names: Iterable[str], *, shared: bool) -> frozenset[str]:
    """Return absolute permission names: audience, slash, name.

    Nothing is resolved, folded or cut. An absolute name counts only below its audience, so that no permission of one
    resource becomes another's. In a token `shared` with other audiences only absolute names count.
    """
    beginning = f"{audience}/"
    absolute = frozenset(name for name in names if name.startswith(beginning))
    if shared:
        return absolute
    return absolute.union(f"{beginning}{name}" for name in names if "://" not in name)


# Keycloak's name of a client's account (org.keycloak.common.constants.ServiceAccountConstants), in lower case.
_SERVICE_ACCOUNT = "service-account-"


class Contradiction(Exception):
    """The claims contradict each other.

    The message names the claims and the setting to change at the provider.
    """


def classify(claims: Claims) -> ActorType | None:
    """Return the type of the caller, or None if it is unclear.

    Raises Contradiction.
    """
    if claims.idtyp not in (UNSET, "app", "user"):
        raise Contradiction("Its claim idtyp is neither app nor user.")
    if _is_application(claims):
        _require_no_user_claims(claims)
        return ActorType.APPLICATION
    if _names_service_account(claims):
        raise Contradiction(
            "It is for a service account, but its claim idtyp is not app. Add idtyp to the tokens of this client."
        )
    if claims.scp is not UNSET or claims.scope is not UNSET:
        return ActorType.USER
    return _classify_without_scopes(claims)


def client_ids(claims: Claims) -> tuple[str, ...]:
    """Return the client by each claim that names it."""
    named = (claims.azp, claims.appid, claims.client_id, claims.cid)
    return tuple(name for name in named if name is not UNSET)


def _is_application(claims: Claims) -> bool:
    return claims.idtyp == "app" or _is_own_client(claims)


def _is_own_client(claims: Claims) -> bool:
    """Return whether the subject is the client itself.

    Letter case does not matter: some ids are UUIDs.
    """
    clients = {name.casefold() for name in client_ids(claims)}
    return any(name is not UNSET and name.casefold() in clients for name in (claims.sub, claims.oid))


def _classify_without_scopes(claims: Claims) -> ActorType | None:
    """Classify a token without scopes.

    Entra ID omits idtyp by default: its application tokens have no scp, and sub equals oid.
    """
    if claims.idtyp is UNSET and claims.sub is not UNSET and claims.sub == claims.oid:
        _require_no_user_claims(claims)
        return ActorType.APPLICATION
    return None


def _require_no_user_claims(claims: Claims) -> None:
    if claims.idtyp == "user":
        raise Contradiction("Its claim idtyp is user, but its subject is the client.")
    name = _user_claim(claims)
    if name is not None:
        raise Contradiction(
            f"It is for an application by idtyp or sub, but its claim {name} is that of a user. "
            "Set idtyp only for clients that sign in no users."
        )


def _user_claim(claims: Claims) -> str | None:
    """Return the first claim that only tokens of users have.

    `sid` is the session of an end user (OpenID Connect Front-Channel Logout 1.0, section 3), `uid` the user of Okta.
    """
    if _is_there(claims.sid):
        return "sid"
    if _is_there(claims.uid):
        return "uid"
    own_names = _own_names(claims)
    for name, value in _user_names(claims).items():
        if _is_there(value) and _text(value) not in own_names:
            return name
    return None


def _names_service_account(claims: Claims) -> bool:
    accounts = {f"{_SERVICE_ACCOUNT}{client}".casefold() for client in client_ids(claims)}
    return any(_text(value) in accounts for value in _user_names(claims).values())


def _own_names(claims: Claims) -> set[str]:
    """Return the names an application may have in claims of users."""
    clients = {client.casefold() for client in client_ids(claims)}
    return clients | {f"{_SERVICE_ACCOUNT}{client}" for client in clients}


def _user_names(claims: Claims) -> dict[str, Raw | UnsetType]:
    return {
        "preferred_username": claims.preferred_username,
        "upn": claims.upn,
        "unique_name": claims.unique_name,
    }


def _is_there(value: Raw | UnsetType) -> bool:
    return value is not UNSET and bytes(value) != b"null"


def _text(value: Raw | UnsetType) -> str | None:
    """Normalize a text; None for another type.

    Another type is no reason to reject a user's token.
    """
    if value is UNSET:
        return None
    try:
        return msgspec.json.decode(value, type=str).casefold()
    except msgspec.MsgspecError:
        return None
