"""What a token says, read strictly and still unproven."""

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from chamberlain.auth.models import ActorType
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.core.errors import Unauthenticated

# Without control characters: claims are looked up in the database and stored, where no text can hold a NUL.
Line = Annotated[str, Meta(pattern=r"^[^\u0000-\u001f\u007f-\u009f]*(?![\s\S])")]
# Some platforms give several names as an array, the standard joins them by spaces (RFC 8693, 4.2).
Names = Line | tuple[Line, ...]

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class Header(Struct, frozen=True):
    """The part of a header that is looked at; addresses and keys that a token brings along are not."""

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
    """Header and claims of a signed token in its compact form."""
    if _COMPACT.fullmatch(token) is None:
        raise token_invalid("The bearer token is no signed JSON Web Token.")
    header, claims, _ = token.split(".")
    return _read(header, Header), _read(claims, Claims)


def read_roles(claims: Claims) -> tuple[str, ...]:
    """The roles of an application."""
    if claims.roles is UNSET:
        return ()
    try:
        return msgspec.json.decode(claims.roles, type=tuple[Line, ...])
    except msgspec.MsgspecError as error:
        raise token_invalid("The claim roles of the bearer token is no list of names.") from error


def token_invalid(detail: str) -> Unauthenticated:
    """The token proves nothing, for the reason given."""
    return Unauthenticated("tokenInvalid", detail)


_Part = TypeVar("_Part", Header, Claims)


def _read(segment: str, part: type[_Part]) -> _Part:
    try:
        return msgspec.json.decode(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)), type=part)
    except (ValueError, RecursionError) as error:
        problem = "cannot be read, or a value in it is missing or mistyped"
        raise token_invalid(f"The {part.__name__.lower()} of the bearer token {problem}.") from error


# A platform may register the parts of the API as resources of their own.
_SEGMENTS = ("", "/collab", "/mail", "/admin")


def api_audiences(prefixes: ScopePrefixes) -> frozenset[str]:
    """The audiences of the API; the directory has its own and takes a set of that one."""
    return frozenset(
        f"{prefix}{segment}"
        for prefix in (prefixes.scope_prefix, prefixes.insiders_scope_prefix)
        for segment in _SEGMENTS
    )


def absolute_names(audience: str, names: Iterable[str], *, shared: bool) -> frozenset[str]:
    """The names as they are compared: audience, slash, name, with nothing resolved, folded or cut.

    A name that is absolute already counts only below the audience, so that one resource's permission never becomes
    another's. In a token that is `shared` with other audiences a relative name may be theirs: only absolute ones count.
    """
    beginning = f"{audience}/"
    absolute = frozenset(name for name in names if name.startswith(beginning))
    if shared:
        return absolute
    return absolute.union(f"{beginning}{name}" for name in names if "://" not in name)


# Keycloak names the account of a client so (org.keycloak.common.constants.ServiceAccountConstants), in lower case.
_SERVICE_ACCOUNT = "service-account-"


class Contradiction(Exception):
    """Claims that cannot all be true. The message names the claims and the setting to change at the provider."""


def classify(claims: Claims) -> ActorType | None:
    """The type of the caller, or None when no claim says it. Raises Contradiction."""
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
    """The client, by each claim that names it."""
    named = (claims.azp, claims.appid, claims.client_id, claims.cid)
    return tuple(name for name in named if name is not UNSET)


def _is_application(claims: Claims) -> bool:
    return claims.idtyp == "app" or _is_own_client(claims)


def _is_own_client(claims: Claims) -> bool:
    """Whether the subject is the client itself. Ids in another case are the same: some are UUIDs."""
    clients = {name.casefold() for name in client_ids(claims)}
    return any(name is not UNSET and name.casefold() in clients for name in (claims.sub, claims.oid))


def _classify_without_scopes(claims: Claims) -> ActorType | None:
    """Entra ID leaves idtyp out by default: its application tokens have no scp, and sub equals oid."""
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
    """The first claim that only the token of a user has.

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
    """The names that an application may have where users have theirs."""
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
    """The text in comparison form, or None for another type. Another type is no reason to refuse a user's token."""
    if value is UNSET:
        return None
    try:
        return msgspec.json.decode(value, type=str).casefold()
    except msgspec.MsgspecError:
        return None
