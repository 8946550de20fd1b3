"""Where connections go, and whom they trust."""

import ssl
from pathlib import Path

import httpx2

from chamberlain_client.errors import NotAnAddress


def trusting(*, verify: ssl.SSLContext | Path | str | bool) -> ssl.SSLContext | bool:
    """What the library for HTTP takes: a path names a file, or a folder, with certificates of authorities."""
    if isinstance(verify, Path | str):
        path = Path(verify)
        return ssl.create_default_context(capath=path) if path.is_dir() else ssl.create_default_context(cafile=path)
    return verify


def address_of(url: str) -> str:
    """The address of a service, without a slash at its end. Raises NotAnAddress."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise NotAnAddress(url) from error
    if parsed.scheme not in {"http", "https"} or not parsed.host or parsed.query or parsed.fragment:
        raise NotAnAddress(url)
    return url.rstrip("/")
