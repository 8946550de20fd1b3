"""Request tokens for local scripts from the running service."""

import ssl
import sys
from typing import NoReturn

import httpx2
import typer

from chamberlain.settings import Settings


def print_token(settings: Settings, *, user: str | None, client: str | None, scopes: list[str]) -> None:
    """Print an access token, or exit 1 with the reason."""
    if (user is None) == (client is None):
        _fail("Name either a --user or a --client.")
    secret_file = settings.data_dir / "local.secret"
    try:
        secret = secret_file.read_text(encoding="utf-8").strip()
    except OSError as error:
        _fail(
            f"{secret_file} cannot be read ({error.strerror}). Run this as who runs the service, with its --data-dir."
        )
    asked = {"user": user} if user is not None else {"client": client}
    # Only the service of this folder has this certificate, so no other process gets the secret.
    address = f"https://localhost:{settings.tls_port}/identity/local/token"
    try:
        answer = httpx2.post(
            address,
            json={**asked, "scope": " ".join(scopes)},
            headers={"Local-Secret": secret},
            verify=ssl.create_default_context(cafile=settings.data_dir / "ca.pem"),
            trust_env=False,
            timeout=10,
        )
    except httpx2.HTTPError:
        _fail(
            f"The service of {settings.data_dir} does not answer on port {settings.tls_port}. "
            "Start it first, or name its --port and --data-dir."
        )
    body = answer.json()
    if answer.status_code != 200:
        _fail(str(body.get("error_description") or body.get("detail") or body))
    print(body["access_token"])


def _fail(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    raise typer.Exit(1)
