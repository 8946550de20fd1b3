"""What a token says, read strictly and still unproven."""

import re
from base64 import urlsafe_b64decode
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from chamberlain.rules.errors import Unauthenticated

# Some platforms give several names as an array, the standard joins them by spaces (RFC 8693, 4.2).
Names = str | tuple[str, ...]
# What is looked up in the database or kept in its rows, where no text can have a NUL.
Line = Annotated[str, Meta(pattern=r"^[^\u0000-\u001f\u007f-\u009f]*(?![\s\S])")]

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class Header(Struct, frozen=True):
    """The part of a header that is looked at; addresses and keys that a token brings along are not."""

    alg: str
    kid: str | UnsetType = UNSET
    typ: str | UnsetType = UNSET
    crit: Raw | UnsetType = UNSET
    b64: Raw | UnsetType = UNSET


class Claims(Struct, frozen=True):
    """The claims that are looked at. `roles` is read for applications only, so for others its form does not matter."""

    iss: Line
    aud: str | tuple[str, ...]
    exp: float
    nbf: float | UnsetType = UNSET
    sub: str | UnsetType = UNSET
    oid: str | UnsetType = UNSET
    tid: Line | UnsetType = UNSET
    azp: Line | UnsetType = UNSET
    appid: Line | UnsetType = UNSET
    client_id: Line | UnsetType = UNSET
    idtyp: str | UnsetType = UNSET
    scp: Names | UnsetType = UNSET
    scope: Names | UnsetType = UNSET
    roles: Raw | UnsetType = UNSET


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
        return msgspec.json.decode(claims.roles, type=tuple[str, ...])
    except msgspec.MsgspecError as error:
        raise token_invalid("The claim roles of the bearer token is no list of names.") from error


def token_invalid(detail: str) -> Unauthenticated:
    """The token proves nothing, for the reason given."""
    return Unauthenticated("tokenInvalid", detail)


_Part = TypeVar("_Part", Header, Claims)


def _read(segment: str, part: type[_Part]) -> _Part:
    try:
        return msgspec.json.decode(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)), type=part)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        problem = "cannot be read, or a value in it is missing or mistyped"
        raise token_invalid(f"The {part.__name__.lower()} of the bearer token {problem}.") from error
