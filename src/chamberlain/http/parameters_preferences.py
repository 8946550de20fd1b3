"""Preferences of a caller (RFC 7240). One is known, `wait`; all others are ignored, and so is what cannot be read."""

import re
from collections.abc import Iterable
from datetime import timedelta

LONGEST_WAIT = timedelta(seconds=30)

# One that is not ended goes to the end of the header.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"?')
_ESCAPED = re.compile(r"\\(.)")
_SECONDS = re.compile(r"[0-9]+")


def wait_of(headers: Iterable[tuple[bytes, bytes]]) -> timedelta | None:
    """How long the caller is ready to wait, at most the longest time that we let anybody wait; None when not at all."""
    # Several headers are the same as one with commas, and of a preference that comes twice the first one counts (2).
    sent = ",".join(value.decode("latin-1") for name, value in headers if name == b"prefer")
    waits = [value for name, value in map(_preference, _QUOTED.sub(_bare, sent).split(",")) if name == "wait"]
    if not waits or not _SECONDS.fullmatch(waits[0]):
        return None
    seconds = min(int(waits[0][:9]), LONGEST_WAIT // timedelta(seconds=1))
    return timedelta(seconds=seconds) if seconds else None


def _bare(quoted: re.Match[str]) -> str:
    """A number in quotes is that number; whatever else is in quotes could not be told from what stands between them."""
    inner = _ESCAPED.sub(r"\1", quoted[0][1:-1])
    return inner if quoted[0].endswith('"') and _SECONDS.fullmatch(inner) else '""'


def _preference(text: str) -> tuple[str, str]:
    name, _, value = text.partition(";")[0].partition("=")
    return name.strip().lower(), value.strip()
