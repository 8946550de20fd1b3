"""ETags: which version of a thing a caller has read, and wants to change."""

from collections.abc import Sequence

from chamberlain.http.router import Parameter

IF_MATCH = Parameter(
    "If-Match",
    {"type": "string", "examples": ['"3"']},
    "The `ETag` of the version that is to be changed; when there is another one by now, the answer is 412.",
)


def seen_versions(headers: Sequence[tuple[bytes, bytes]]) -> frozenset[str] | None:
    """The versions that the caller has seen; None when any will do (RFC 9110, 13.1.1). Several lines are one list
    (RFC 9110, 5.3), whose empty members say nothing."""
    lines = [value.decode("latin-1") for name, value in headers if name == b"if-match"]
    tags = frozenset(tag.strip() for line in lines for tag in line.split(",")) - {""}
    return None if not lines or tags == {"*"} else tags
