# SPDX-License-Identifier: Apache-2.0
"""Documents that are built once and sent in two codings, with ETags."""

import asyncio
import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from chamberlain.http.responses import Answer, Headers

# Clients list a few codings. A longer header is not parsed, and the document is sent uncompressed.
_LONGEST_HEADER = 1024
_HEADERS: Headers = (
    (b"vary", b"accept-encoding"),
    # Caches must revalidate: the document changes with the version and the settings.
    (b"cache-control", b"no-cache"),
)


@dataclass(frozen=True, slots=True)
class _Form:
    """The document in one coding, with its responses."""

    etag: bytes
    whole: Answer
    unchanged: Answer


class Published:
    """A document that is built on its first request, and cached.

    A thread builds both forms. Most processes never send it, and building it takes 30 ms, for which the event loop must
    not stop.
    """

    def __init__(self, build: Callable[[], bytes], content_type: bytes, headers: Headers = ()) -> None:
        self._build = build
        self._content_type = content_type
        self._headers = headers
        self._forms: tuple[_Form, ...] = ()
        self._building = asyncio.Lock()

    async def answer(self, headers: Sequence[tuple[bytes, bytes]]) -> Answer:
        """Choose the form by the headers of a call.

        Returns 304 if the client has that form.
        """
        if not self._forms:
            async with self._building:
                # Another call may have built it.
                self._forms = self._forms or await asyncio.to_thread(self._make)
        plain, compressed = self._forms
        form = compressed if accepts_gzip(_value(headers, b"accept-encoding")) else plain
        return form.unchanged if _names(_value(headers, b"if-none-match"), form.etag) else form.whole

    def _make(self) -> tuple[_Form, ...]:
        body = self._build()
        digest = sha256(body).hexdigest()[:32].encode("ascii")
        # Without the time, all processes send the same bytes.
        compressed = gzip.compress(body, compresslevel=9, mtime=0)
        return (
            self._form(body, b'"%b"' % digest, ()),
            self._form(compressed, b'"%b-gzip"' % digest, ((b"content-encoding", b"gzip"),)),
        )

    def _form(self, body: bytes, etag: bytes, coding: Headers) -> _Form:
        headers = ((b"etag", etag), *_HEADERS)
        whole = Answer(200, body, (*headers, *coding, *self._headers), self._content_type)
        return _Form(etag, whole, Answer(304, b"", headers))


def accepts_gzip(value: str) -> bool:
    """Whether an Accept-Encoding header allows gzip (RFC 9110, 12.5.3)."""
    if len(value) > _LONGEST_HEADER:
        return False
    qualities = dict(map(_coding, value.lower().split(",")))
    return qualities.get("gzip", qualities.get("x-gzip", qualities.get("*", 0.0))) > 0


def _coding(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip() for part in text.split(";"))
    quality = next((each[2:] for each in parameters if each.startswith("q=")), "1")
    try:
        return name, float(quality)
    except ValueError:
        return name, 0.0


def _value(headers: Sequence[tuple[bytes, bytes]], wanted: bytes) -> str:
    """Join the lines of one header (RFC 9110, 5.3)."""
    return ",".join(value.decode("latin-1") for name, value in headers if name == wanted)


def _names(if_none_match: str, etag: bytes) -> bool:
    """Whether If-None-Match names the ETag. The comparison is weak (RFC 9110, 13.1.2)."""
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match[:_LONGEST_HEADER].split(",")}
    return "*" in tags or etag.decode("ascii") in tags
