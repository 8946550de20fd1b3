"""ETags: which version of a thing a caller has read, and wants to change."""

from collections.abc import Mapping

from chamberlain.api.endpoint import Parameter

IF_MATCH = Parameter(
    "If-Match",
    {"type": "string", "examples": ['"3"']},
    "The `ETag` of the version that is to be changed; when there is another one by now, the answer is 412.",
)


def seen_versions(headers: Mapping[bytes, bytes]) -> frozenset[str] | None:
    """The versions that the caller has seen; None when any will do (RFC 9110, 13.1.1)."""
    sent = headers.get(b"if-match")
    if sent is None or sent.strip() == b"*":
        return None
    return frozenset(tag.strip() for tag in sent.decode("latin-1").split(","))
