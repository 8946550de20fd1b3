# SPDX-License-Identifier: Apache-2.0
"""The commands login, logout, whoami and token."""

import json
import ssl
import webbrowser
from base64 import urlsafe_b64decode
from binascii import Error
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import httpx2

from chamberlain.cli import terminal
from chamberlain.cli.calls import Area, Call, is_loopback, show
from chamberlain.cli.errors import Misused, failed
from chamberlain.cli.output import say
from chamberlain.cli.sign_in import (
    Program,
    Prompt,
    find_token,
    forget_unused,
    sign_in,
    sign_out_page,
)
from chamberlain.cli.sign_ins import Context, Profile, ProviderUnreachable, SignInEnded
from chamberlain.settings import Settings

# Tenant and client of the sample data at the embedded identity platform.
_TENANT = "e57a7e00-0000-4000-8000-000000000001"
_CLIENT = "c11e0000-0000-4000-8000-000000000001"
_DIRECTORY_SCOPES = ("https://graph.estate.example/Group.Read.All", "https://graph.estate.example/User.Read.All")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options of `login`."""

    issuer: str | None
    tenant: str | None
    client_id: str | None
    scopes: tuple[str, ...]


def login(call: Call, wanted: Wanted, *, with_browser: bool, again: bool) -> None:
    """Sign in, unless a matching sign-in is saved."""
    saved = call.sign_ins.context(call.context) or Context(call.server)
    profile = saved.sign_in
    program = _program(call, wanted, saved)
    if profile is not None and not again and _is_still(call, profile, program):
        say(f"{profile.username} is already signed in at {call.server}. Use --again to sign in as another user.")
    else:
        profile = _signed_in(call, program, with_browser=with_browser)
        _remember(call, replace(saved, tenant=wanted.tenant or saved.tenant, sign_in=profile))
        say(f"{profile.username} is signed in at {call.server}.")
    if call.settings.token is not None:
        say("CHAMBERLAIN_TOKEN is set, and comes before it.")
    if call.output.is_document:
        show(call, {"server": profile.server, "username": profile.username, "issuer": profile.issuer})


def logout(call: Call) -> None:
    """Delete the saved sign-in, and print the sign-out page."""
    with call.sign_ins.locked():
        saved = call.sign_ins.context(call.context)
        profile = None if saved is None else saved.sign_in
        if saved is not None and profile is not None:
            kept = call.sign_ins.contexts()
            signed_out = {**kept.contexts, call.context: replace(saved, sign_in=None)}
            call.sign_ins.write_contexts(replace(kept, contexts=signed_out))
            forget_unused(call.sign_ins, profile)
    if profile is None:
        say(f"No user is signed in at {call.server}.")
    else:
        say(f"{profile.username} is not signed in at {call.server} any more.")
        if profile.sign_out_page:
            say(f"A browser that was used for it may still be signed in. It is signed out at {profile.sign_out_page}")
    if call.output.is_document:
        page = profile and profile.sign_out_page
        show(call, {"server": call.server, "username": profile and profile.username, "signOutPage": page})


def whoami(call: Call) -> None:
    """Print the claims of the token."""
    profile = None if call.settings.token else call.sign_ins.profile(call.context)
    claims = _claims(call.token(Area.REQUESTS))
    tokens = [claims] if profile is None else [_claims(token) for token in _tokens(call, profile)]
    show(
        call,
        {
            "server": call.server,
            "username": profile.username if profile else _first(claims, "preferred_username", "upn", "email"),
            "name": claims.get("name"),
            "id": _first(claims, "oid", "sub"),
            "type": "user" if _first(claims, "scp", "scope") else "application",
            "tenantId": claims.get("tid"),
            "issuer": claims.get("iss"),
            "clientId": _first(claims, "azp", "appid", "client_id"),
            "signedInBy": "login" if profile else "CHAMBERLAIN_TOKEN",
            "tokens": [_shown(each) for each in tokens],
        },
    )


def _program(call: Call, wanted: Wanted, saved: Context) -> Program:
    """Combine the options with the saved values."""
    known = saved.sign_in
    if wanted.tenant is not None and wanted.issuer is not None:
        raise Misused("Name either the --issuer or the --tenant of the embedded identity platform.")
    if wanted.issuer is not None:
        issuer = wanted.issuer.rstrip("/")
    elif wanted.tenant is None and (issuer_before := known.issuer if known else saved.issuer):
        issuer = issuer_before
    else:
        issuer = _embedded_issuer(call.server, wanted.tenant or saved.tenant or _TENANT)
    if not issuer.startswith("https://"):
        raise Misused(f"--issuer {issuer} has to begin with https://.")
    scopes = tuple(tuple(group.split()) for group in wanted.scopes)
    return Program(
        issuer,
        wanted.client_id or (known.client_id if known else saved.client_id or _CLIENT),
        scopes or (known.scopes if known else _default_scopes(call.settings)),
    )


def _embedded_issuer(server: str, tenant: str) -> str:
    if not is_loopback(server):
        raise Misused(f"{server} is not on this machine: name the --issuer and the --client-id to sign in with.")
    parts = urlsplit(server)
    # HTTPS uses the next port.
    port = (parts.port or 80) + 1 if parts.scheme == "http" else parts.port or 443
    return f"https://localhost:{port}/identity/{tenant}/v2.0"


def _default_scopes(settings: Settings) -> tuple[tuple[str, ...], ...]:
    ours, insiders = settings.scope_prefix, settings.insiders_scope_prefix
    mail_and_admin = (f"{ours}/mail/App.ReadWrite.All", f"{ours}/admin/Config.ReadWrite.All")
    collab = (f"{insiders}/collab/App.ReadWrite.All",)
    if ours == insiders:
        return ((*collab, *mail_and_admin), _DIRECTORY_SCOPES)
    return (mail_and_admin, collab, _DIRECTORY_SCOPES)


def _is_still(call: Call, profile: Profile, program: Program) -> bool:
    if Program(profile.issuer, profile.client_id, profile.scopes) != program:
        return False
    try:
        find_token(profile, profile.scopes[0], call.sign_ins, call.provider_client)
    except SignInEnded:
        return False
    return True


def _signed_in(call: Call, program: Program, *, with_browser: bool) -> Profile:
    def show_prompt(prompt: Prompt) -> None:
        _tell(prompt, opens=not call.output.is_document)
        if call.output.is_document:
            member = {} if prompt.code is None else {"userCode": prompt.code}
            show(call, {"verificationUri": prompt.address, **member, "expiresIn": prompt.expires_in})

    done = sign_in(program, call.sign_ins, call.provider_client, show_prompt, with_browser=with_browser)
    for scopes, reason in done.refused:
        say(f"Without {' '.join(scopes)}: {reason}")
    try:
        page = sign_out_page(program.issuer, call.provider_client)
    except ProviderUnreachable:
        page = None
    return Profile(
        server=call.server,
        issuer=program.issuer,
        client_id=program.client_id,
        scopes=program.scopes,
        account=done.account,
        username=done.username,
        certificates=None if call.certificates is None else str(call.certificates.absolute()),
        sign_out_page=page,
    )


def _remember(call: Call, context: Context) -> None:
    certificates = None if call.certificates is None else str(call.certificates.absolute())
    with call.sign_ins.locked():
        before = call.sign_ins.profile(call.context)
        call.sign_ins.remember(call.context, replace(context, certificates=certificates or context.certificates))
        if before is not None:
            forget_unused(call.sign_ins, before)


def _tell(prompt: Prompt, *, opens: bool) -> None:
    """Print where to sign in, and open a local browser."""
    minutes = int(prompt.expires_in // 60)
    if prompt.code is None:
        say(f"Sign in with the browser that opens, or at this address, within {minutes} minutes:\n{prompt.address}")
    else:
        say(f"Open {prompt.address} and enter the code {prompt.code} within {minutes} minutes.")
    ports = _local_ports(prompt)
    if not terminal.has_display() and ports:
        forwards = " ".join(f"-L {port}:localhost:{port}" for port in ports)
        # The command has a line of its own so that it can be copied.
        say(f"If the browser is on another machine, run this there first:\nssh {forwards} {terminal.ssh_name()}")
    elif opens and terminal.has_display() and prompt.direct_address is not None:
        say("A browser opens with this code. Compare it with the code on the page.")
        webbrowser.open(prompt.direct_address)


def _local_ports(prompt: Prompt) -> list[int]:
    """Return the ports of this machine that the browser has to reach."""
    parts = urlsplit(prompt.address)
    redirects = parse_qs(parts.query).get("redirect_uri", [])
    places = [parts, *map(urlsplit, redirects)]
    return [each.port for each in places if each.port is not None and is_loopback(each.geturl())]


def _tokens(call: Call, profile: Profile) -> Iterable[str]:
    for scopes in profile.scopes:
        try:
            yield find_token(profile, scopes, call.sign_ins, call.provider_client)
        except SignInEnded as error:
            say(f"Without {' '.join(scopes)}: {error}")


def _claims(token: str) -> Mapping[str, object]:
    """Decode the claims without validation, which the service does.

    Opaque tokens have none.
    """
    try:
        part = token.split(".")[1]
        claims = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, Error, ValueError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _first(claims: Mapping[str, object], *names: str) -> object:
    return next((claims[name] for name in names if claims.get(name)), None)


def _shown(claims: Mapping[str, object]) -> dict[str, object]:
    expires = claims.get("exp")
    scopes = _first(claims, "scp", "scope") or _first(claims, "roles")
    until = datetime.fromtimestamp(expires, UTC).isoformat() if isinstance(expires, int) else None
    return {
        "audience": claims.get("aud"),
        "permissions": scopes.split() if isinstance(scopes, str) else scopes,
        "expiresAt": until and until.replace("+00:00", "Z"),
    }


def print_token(settings: Settings, *, user: str | None, client: str | None, scopes: list[str]) -> None:
    """Print an access token, or exit 1 with the reason."""
    if (user is None) == (client is None):
        raise failed("Name either a --user or a --client.")
    print(local_token(settings, {"user": user} if user is not None else {"client": str(client)}, scopes))


def local_token(settings: Settings, subject: Mapping[str, str], scopes: list[str]) -> str:
    """Get a token without a sign-in, for a `user` or a `client`.

    A failure ends the command.
    """
    secret_file = settings.data_dir / "local.secret"
    try:
        secret = secret_file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise failed(
            f"{secret_file} cannot be read ({error.strerror}). "
            "Run this as the user of the service, with its --data-dir."
        ) from error
    # Only the service of this folder has this certificate, so no other process gets the secret.
    address = f"https://localhost:{settings.tls_port}/identity/local/token"
    try:
        answer = httpx2.post(
            address,
            json={**subject, "scope": " ".join(scopes)},
            headers={"Local-Secret": secret},
            verify=ssl.create_default_context(cafile=settings.data_dir / "ca.pem"),
            trust_env=False,
            timeout=10,
        )
    except httpx2.HTTPError as error:
        raise failed(
            f"The service of {settings.data_dir} does not answer on port {settings.tls_port}. "
            "Start it first, or name its --port and --data-dir."
        ) from error
    body = answer.json()
    if answer.status_code != 200:
        raise failed(str(body.get("error_description") or body.get("detail") or body))
    return str(body["access_token"])
