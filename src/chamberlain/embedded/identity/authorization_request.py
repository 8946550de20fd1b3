# SPDX-License-Identifier: Apache-2.0
"""Authorization requests (RFC 6749, 4.1.1; OpenID Connect Core, 3.1.2.1).

The client and its redirect URI are validated first. Errors before that are shown to the user; errors after it are sent
to the client.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from chamberlain.embedded.identity.clients import (
    ClientKind,
    RegisteredClient,
    client_by_id,
    find_clients,
    is_registered_redirect,
)
from chamberlain.embedded.identity.errors import ClientRequestInvalid, InvalidScope, TenantUnknown
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.scopes import user_scopes

# RFC 7636, 4.2: the SHA-256 digest in base64url.
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
# Stored with the code and contained in the ID token. Libraries use 16 to 32 random bytes.
_NONCE = re.compile(r"[\x21-\x7e]{1,512}")
_SECONDS = re.compile(r"[0-9]{1,9}")
_MOST_PARAMETERS = 40
_LONGEST_STATE = 4096
# Unsupported parameters of OpenID Connect Core (6; 7.2.1), with their error codes.
_UNSUPPORTED = {
    "request": "request_not_supported",
    "request_uri": "request_uri_not_supported",
    "registration": "registration_not_supported",
}


class ResponseMode(StrEnum):
    """Response as query or form (OAuth 2.0 Form Post Response Mode)."""

    QUERY = "query"
    FORM_POST = "form_post"


class Prompt(StrEnum):
    """Required interaction with the user.

    All scopes have consent, so `consent` only shows the account.
    """

    NONE = "none"
    LOGIN = "login"
    SELECT_ACCOUNT = "select_account"
    CONSENT = "consent"


@dataclass(frozen=True, slots=True)
class ResponseTarget:
    """Target of the response: a registered redirect URI of a known client."""

    client: RegisteredClient
    redirect_uri: str
    mode: ResponseMode
    state: str | None


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A valid request. `parameters` are all of its parameters, to repeat it."""

    target: ResponseTarget
    scope: str
    nonce: str | None
    code_challenge: str
    prompts: frozenset[Prompt]
    login_hint: str
    max_age: int | None
    parameters: Mapping[str, str]

    @property
    def query(self) -> str:
        """The request as a query string."""
        return urlencode(self.parameters)

    def query_with(self, **changes: str) -> str:
        """Return the request with other parameters; an empty one is omitted."""
        return urlencode({name: value for name, value in {**self.parameters, **changes}.items() if value})

    @property
    def is_of_native_client(self) -> bool:
        """Whether any program on the machine could send this (RFC 8252, 8.6)."""
        return self.target.client.kind is ClientKind.PUBLIC and self.target.redirect_uri.startswith("http://")


class AuthorizationError(Exception):
    """Error response to the client, with an OAuth error code."""

    def __init__(self, target: ResponseTarget, error: str, description: str) -> None:
        super().__init__(description)
        self.target = target
        self.error = error
        self.description = description


async def read_authorization_request(platform: IdentityPlatform, tenant_id: UUID, query: str) -> AuthorizationRequest:
    """Parse and validate the query. Raises TenantUnknown, ClientRequestInvalid and AuthorizationError."""
    parameters, repeated = _parse(query)
    target = await _target(platform, tenant_id, parameters, repeated)
    if repeated:
        raise AuthorizationError(target, "invalid_request", "A parameter occurs more than once.")
    _require_supported(target, parameters)
    return AuthorizationRequest(
        target=target,
        scope=_scope(target, parameters),
        nonce=_nonce(target, parameters),
        code_challenge=_code_challenge(target, parameters),
        prompts=_prompts(target, parameters),
        login_hint=parameters.get("login_hint", "").strip(),
        max_age=_max_age(target, parameters),
        parameters=parameters,
    )


def _parse(query: str) -> tuple[dict[str, str], set[str]]:
    """Return the parameters with a value, and the names of repeated ones."""
    try:
        pairs = parse_qsl(query, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise ClientRequestInvalid("The request cannot be parsed. Start again in the application.") from error
    names = [name for name, _ in pairs]
    return dict(pairs), {name for name in names if names.count(name) > 1}


async def _target(
    platform: IdentityPlatform, tenant_id: UUID, parameters: Mapping[str, str], repeated: set[str]
) -> ResponseTarget:
    clients = await find_clients(platform.pool, tenant_id)
    if not clients:
        raise TenantUnknown
    if repeated & {"client_id", "redirect_uri"}:
        raise ClientRequestInvalid("The client_id or redirect_uri is repeated. Start again in the application.")
    client = client_by_id(clients, parameters.get("client_id", ""))
    if client is None:
        raise ClientRequestInvalid("The application (client_id) is unknown in this organisation. Contact its operator.")
    redirect_uri = parameters.get("redirect_uri", "")
    if not is_registered_redirect(client.redirect_uris, redirect_uri):
        raise ClientRequestInvalid(
            f"The request names the application {client.name}, but its redirect_uri is not registered. You are not "
            "redirected there. Contact the operator of the application."
        )
    state = parameters.get("state")
    if state is not None and ("state" in repeated or len(state) > _LONGEST_STATE):
        state = None
    target = ResponseTarget(client, redirect_uri, ResponseMode.QUERY, state)
    mode = parameters.get("response_mode", ResponseMode.QUERY.value)
    if mode not in list(ResponseMode):
        raise AuthorizationError(target, "invalid_request", "The response_mode must be query or form_post.")
    return replace(target, mode=ResponseMode(mode))


def _require_supported(target: ResponseTarget, parameters: Mapping[str, str]) -> None:
    for name, error in _UNSUPPORTED.items():
        if name in parameters:
            raise AuthorizationError(target, error, f"The parameter {name} is not supported. Send single parameters.")
    if len(parameters.get("state", "")) > _LONGEST_STATE:
        raise AuthorizationError(target, "invalid_request", f"The state must have at most {_LONGEST_STATE} characters.")
    if "response_type" not in parameters:
        raise AuthorizationError(target, "invalid_request", "Send response_type=code.")
    if parameters["response_type"] != "code":
        raise AuthorizationError(target, "unsupported_response_type", "The only supported response_type is code.")


def _scope(target: ResponseTarget, parameters: Mapping[str, str]) -> str:
    scope = parameters.get("scope", "")
    try:
        user_scopes(target.client, scope)
    except InvalidScope as error:
        raise AuthorizationError(target, error.error, error.description) from error
    return scope


def _nonce(target: ResponseTarget, parameters: Mapping[str, str]) -> str | None:
    nonce = parameters.get("nonce")
    if nonce is not None and not _NONCE.fullmatch(nonce):
        raise AuthorizationError(target, "invalid_request", "The nonce must be visible ASCII, at most 512 characters.")
    return nonce


def _code_challenge(target: ResponseTarget, parameters: Mapping[str, str]) -> str:
    challenge = parameters.get("code_challenge", "")
    # Without a method the challenge would be plain (RFC 7636, 4.3), which an observer of the request could use.
    if parameters.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise AuthorizationError(
            target,
            "invalid_request",
            "PKCE is required: send code_challenge with code_challenge_method=S256 (RFC 7636).",
        )
    return challenge


def _prompts(target: ResponseTarget, parameters: Mapping[str, str]) -> frozenset[Prompt]:
    values = parameters.get("prompt", "").split()
    if not set(values) <= set(Prompt) or (Prompt.NONE in values and len(values) > 1):
        raise AuthorizationError(
            target, "invalid_request", "The prompt must be none, or of login, select_account and consent."
        )
    return frozenset(Prompt(value) for value in values)


def _max_age(target: ResponseTarget, parameters: Mapping[str, str]) -> int | None:
    seconds = parameters.get("max_age")
    if seconds is None:
        return None
    if not _SECONDS.fullmatch(seconds):
        raise AuthorizationError(target, "invalid_request", "The max_age must be a whole number of seconds.")
    return int(seconds)
