"""What a program asks for when it sends a browser to us (RFC 6749, 4.1.1; OpenID Connect Core, 3.1.2.1).

First it is made sure who asks and where the answer goes; as long as that is open, faults are told to the person. From
then on they are told to the program.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from chamberlain.embedded.identity.clients import ClientKind, RegisteredClient, find_clients, is_registered_redirect
from chamberlain.embedded.identity.errors import InvalidScope, NothingThere, RequestNotOurs
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.scopes import choose_for_user

# RFC 7636, 4.2: the SHA-256 digest in base64url.
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
# It is kept with the code and stands in a token; libraries make it of 16 to 32 random bytes.
_NONCE = re.compile(r"[\x21-\x7e]{1,512}")
_SECONDS = re.compile(r"[0-9]{1,9}")
_MOST_PARAMETERS = 40
_LONGEST_STATE = 4096
# Ways of asking that OpenID Connect Core knows (6; 7.2.1) and that are not spoken here, with their errors.
_NOT_SPOKEN = {
    "request": "request_not_supported",
    "request_uri": "request_uri_not_supported",
    "registration": "registration_not_supported",
}


class ResponseMode(StrEnum):
    """How the answer travels: in the address, or as a form (OAuth 2.0 Form Post Response Mode)."""

    QUERY = "query"
    FORM_POST = "form_post"


class Prompt(StrEnum):
    """What the program wants the person to be asked. Everything is consented, so `consent` shows the account only."""

    NONE = "none"
    LOGIN = "login"
    SELECT_ACCOUNT = "select_account"
    CONSENT = "consent"


@dataclass(frozen=True, slots=True)
class WayBack:
    """Where the answer goes: a registered address of a known program."""

    client: RegisteredClient
    redirect_uri: str
    mode: ResponseMode
    state: str | None


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """What is asked for; `parameters` are all of it, to be asked once more."""

    back: WayBack
    scope: str
    nonce: str | None
    code_challenge: str
    prompts: frozenset[Prompt]
    login_hint: str
    max_age: int | None
    parameters: Mapping[str, str]

    @property
    def query(self) -> str:
        """The request as the query of an address."""
        return urlencode(self.parameters)

    def query_with(self, **changes: str) -> str:
        """The request with other parameters; an empty one is left out."""
        return urlencode({name: value for name, value in {**self.parameters, **changes}.items() if value})

    @property
    def is_of_native_program(self) -> bool:
        """Whether any program on the person's machine could ask in this one's name (RFC 8252, 8.6)."""
        return self.back.client.kind is ClientKind.PUBLIC and self.back.redirect_uri.startswith("http://")


class RequestFaulty(Exception):
    """The program is told: `error` is the word of OAuth or OpenID Connect, the description a sentence."""

    def __init__(self, back: WayBack, error: str, description: str) -> None:
        super().__init__(description)
        self.back = back
        self.error = error
        self.description = description


async def read_authorization_request(platform: IdentityPlatform, tenant_id: UUID, query: str) -> AuthorizationRequest:
    """The request in the query of an address. Raises NothingThere, RequestNotOurs and RequestFaulty."""
    parameters, repeated = _read(query)
    back = await _way_back(platform, tenant_id, parameters, repeated)
    if repeated:
        raise RequestFaulty(back, "invalid_request", "A parameter is there more than once.")
    _require_spoken(back, parameters)
    return AuthorizationRequest(
        back=back,
        scope=_scope(back, parameters),
        nonce=_nonce(back, parameters),
        code_challenge=_code_challenge(back, parameters),
        prompts=_prompts(back, parameters),
        login_hint=parameters.get("login_hint", "").strip(),
        max_age=_max_age(back, parameters),
        parameters=parameters,
    )


def _read(query: str) -> tuple[dict[str, str], set[str]]:
    """The parameters, of which one without a value counts as not sent, and the names of those sent twice."""
    try:
        pairs = parse_qsl(query, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise RequestNotOurs("What the program sent along cannot be read. Start again from the program.") from error
    names = [name for name, _ in pairs]
    return dict(pairs), {name for name in names if names.count(name) > 1}


async def _way_back(
    platform: IdentityPlatform, tenant_id: UUID, parameters: Mapping[str, str], repeated: set[str]
) -> WayBack:
    clients = await find_clients(platform.pool, tenant_id)
    if not clients:
        raise NothingThere
    if repeated & {"client_id", "redirect_uri"}:
        raise RequestNotOurs("The program named itself or its address more than once. Start again from the program.")
    client = next((each for each in clients if str(each.id) == parameters.get("client_id", "").lower()), None)
    if client is None:
        raise RequestNotOurs("The program (client_id) is not known in this organisation. Whoever runs it has to look.")
    redirect_uri = parameters.get("redirect_uri", "")
    if not is_registered_redirect(client.redirect_uris, redirect_uri):
        raise RequestNotOurs(
            f"The program says that it is {client.name}, but the address to go back to (redirect_uri) is none of its "
            "registered ones, so nobody is sent there. Whoever runs it has to look."
        )
    mode, state = parameters.get("response_mode", ResponseMode.QUERY.value), parameters.get("state")
    if state is not None and ("state" in repeated or len(state) > _LONGEST_STATE):
        state = None
    back = WayBack(client, redirect_uri, ResponseMode.QUERY, state)
    if mode not in list(ResponseMode):
        raise RequestFaulty(back, "invalid_request", "The response_mode is query or form_post.")
    return WayBack(client, redirect_uri, ResponseMode(mode), state)


def _require_spoken(back: WayBack, parameters: Mapping[str, str]) -> None:
    for name, error in _NOT_SPOKEN.items():
        if name in parameters:
            raise RequestFaulty(back, error, f"The parameter {name} is not spoken here. Send each parameter by itself.")
    if len(parameters.get("state", "")) > _LONGEST_STATE:
        raise RequestFaulty(back, "invalid_request", f"The state has more than {_LONGEST_STATE} letters.")
    if "response_type" not in parameters:
        raise RequestFaulty(back, "invalid_request", "Send response_type=code.")
    if parameters["response_type"] != "code":
        raise RequestFaulty(back, "unsupported_response_type", "The only response_type that there is here is code.")


def _scope(back: WayBack, parameters: Mapping[str, str]) -> str:
    scope = parameters.get("scope", "")
    try:
        choose_for_user(back.client, scope)
    except InvalidScope as refusal:
        raise RequestFaulty(back, refusal.error, refusal.description) from refusal
    return scope


def _nonce(back: WayBack, parameters: Mapping[str, str]) -> str | None:
    nonce = parameters.get("nonce")
    if nonce is not None and not _NONCE.fullmatch(nonce):
        raise RequestFaulty(back, "invalid_request", "The nonce is visible ASCII, at most 512 letters.")
    return nonce


def _code_challenge(back: WayBack, parameters: Mapping[str, str]) -> str:
    challenge = parameters.get("code_challenge", "")
    # Without a method the challenge would be plain (RFC 7636, 4.3), which proves nothing to who can read the request.
    if parameters.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise RequestFaulty(
            back,
            "invalid_request",
            "Send code_challenge with code_challenge_method=S256 (RFC 7636): PKCE is obligatory.",
        )
    return challenge


def _prompts(back: WayBack, parameters: Mapping[str, str]) -> frozenset[Prompt]:
    words = parameters.get("prompt", "").split()
    if not set(words) <= set(Prompt) or (Prompt.NONE in words and len(words) > 1):
        raise RequestFaulty(back, "invalid_request", "The prompt is none, or login, select_account or consent.")
    return frozenset(Prompt(word) for word in words)


def _max_age(back: WayBack, parameters: Mapping[str, str]) -> int | None:
    seconds = parameters.get("max_age")
    if seconds is None:
        return None
    if not _SECONDS.fullmatch(seconds):
        raise RequestFaulty(back, "invalid_request", "The max_age is a whole number of seconds.")
    return int(seconds)
