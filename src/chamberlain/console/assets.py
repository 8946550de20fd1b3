# SPDX-License-Identifier: Apache-2.0
"""Style sheet, module and icon, compressed once at the start.

Their addresses have their digest, so browsers keep them forever. Pages themselves are never compressed: they have a
form token beside the input of users (BREACH).
"""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from chamberlain.design import ICON
from chamberlain.design import STYLE as DESIGN

PATH: Final = "/console/assets/{digest}/{name}"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file for browsers, as it is and compressed."""

    path: str
    media_type: str
    content: bytes
    compressed: bytes


@cache
def assets() -> Mapping[str, Asset]:
    """Return all assets by name."""
    found = (
        ("console.css", "text/css", DESIGN + _read("console.css")),
        ("console.js", "text/javascript", _read("console.js")),
        ("icon.svg", "image/svg+xml", ICON),
    )
    return {name: _asset(name, media_type, content) for name, media_type, content in found}


async def serve_asset(request: Request) -> Response:
    """Send an asset. Another digest than that of today is unknown."""
    asset = assets().get(request.path_params["name"])
    if asset is None or asset.path != request.scope["path"]:
        return Response(status_code=404, headers={"Cache-Control": "no-store"})
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    # An SVG could have scripts if it were opened as a page.
    headers["Content-Security-Policy"] = "default-src 'none'; style-src 'self'; frame-ancestors 'none'"
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.compressed, 200, {**headers, "Content-Encoding": "gzip"}, asset.media_type)
    return Response(asset.content, 200, headers, asset.media_type)


def _asset(name: str, media_type: str, content: bytes) -> Asset:
    path = PATH.format(digest=sha256(content).hexdigest()[:16], name=name)
    return Asset(path, media_type, content, gzip.compress(content, compresslevel=9, mtime=0))


def _read(name: str) -> bytes:
    return files(__package__).joinpath("assets", name).read_bytes()
