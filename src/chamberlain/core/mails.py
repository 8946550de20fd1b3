# SPDX-License-Identifier: Apache-2.0
"""Parse mails of unknown senders (RFC 5322) in bounded time.

Nothing here does I/O.
"""

import re
from email import message_from_bytes
from email.message import Message
from typing import Final

# The parser of the library raises these for some malformed mails, also when it decodes parts.
MALFORMED: Final = (RecursionError, ValueError, LookupError, TypeError, AssertionError)
# Most parts that are read. The text of a mail comes before its attachments.
_MOST_PARTS: Final = 50
# Most lines that may begin a part. The library needs 300 bytes of memory for each.
_MOST_BOUNDARIES: Final = 2_000
# Longest header that is parsed, in bytes. A line has at most 998 characters (RFC 5322, 2.1.1). The library needs time
# that grows with the square of the length.
_LONGEST_HEADER: Final = 2_000
_PARSED_HEADER = re.compile(
    rb"(?:\A|[\r\n])content-(?:type|disposition|transfer-encoding):[^\r\n]*+(?:(?:\r\n|\r|\n)[ \t][^\r\n]*+)*+",
    re.IGNORECASE,
)
# Longest beginning of a mail with its own headers.
_LONGEST_HEAD: Final = 262_144
_END_OF_HEAD = re.compile(rb"\r\n\r\n|\n\n")
# A sender with or without a name. Stricter than RFC 5322: without groups, routes and lists, which a mail server may
# read in another way, and then it has verified another address.
_ADDRESS: Final = r"(?P<{0}>[^\s@<>()\[\]\\,;:\"]+@[^\s@<>()\[\]\\,;:\"]+)"
_SENDER = re.compile(
    rf'(?:(?:"(?:[^"\\]|\\.)*+"|[^"<>,;:@\\]*+)\s*<{_ADDRESS.format("named")}>|{_ADDRESS.format("alone")})', re.DOTALL
)


def parse_mail(raw: bytes) -> Message:
    """Parse a raw mail. Raises one of MALFORMED."""
    end = _END_OF_HEAD.search(raw)
    if (len(raw) if end is None else end.start()) > _LONGEST_HEAD:
        raise ValueError("The headers of the mail are too long.")
    if any(len(header[0]) > _LONGEST_HEADER for header in _PARSED_HEADER.finditer(raw)):
        raise ValueError("A header of the mail is too long.")
    if raw.count(b"\n--") > _MOST_BOUNDARIES:
        raise ValueError("The mail has too many parts.")
    return message_from_bytes(raw)


def parts_of(mail: Message) -> list[Message]:
    """Return the first parts of a mail, without those of attached mails.

    A user may attach a mail of another sender.
    """
    found: list[Message] = []
    waiting = [mail]
    while waiting and len(found) < _MOST_PARTS:
        part = waiting.pop()
        found.append(part)
        if part.get_content_maintype() == "multipart":
            payload = part.get_payload()
            inner = payload if isinstance(payload, list) else []
            waiting.extend([each for each in reversed(inner) if isinstance(each, Message)])
    return found


def sender_of(mail: Message, header: str = "From") -> str | None:
    """Return the address in the only header with this name.

    It is in lower case. None if there are several headers or addresses.
    """
    headers = [str(each).strip() for each in mail.get_all(header, ())]
    if len(headers) != 1 or len(headers[0]) > _LONGEST_HEADER:
        return None
    found = _SENDER.fullmatch(headers[0])
    return None if found is None else (found["named"] or found["alone"]).lower()
