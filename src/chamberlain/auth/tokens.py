"""What a token says, read strictly and still unproven."""

import re
from base64 import urlsafe_b64decode
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

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
