"""Whom a connection trusts."""

import ssl
from pathlib import Path


def trusting(*, verify: ssl.SSLContext | Path | str | bool) -> ssl.SSLContext | bool:
    """What the library for HTTP takes: a path names a file, or a folder, with certificates of authorities."""
    if isinstance(verify, Path | str):
        path = Path(verify)
        return ssl.create_default_context(capath=path) if path.is_dir() else ssl.create_default_context(cafile=path)
    return verify
