"""Classification of a proven token: does a user or an application call?

RFC 9068, section 2.2: without a resource owner, `sub` names the client. Scopes decide nothing, because providers put
them into the tokens of applications too.
"""

import msgspec
from msgspec import UNSET, Raw, UnsetType

from chamberlain.auth.models import ActorType
from chamberlain.auth.tokens import Claims

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
