# SPDX-License-Identifier: Apache-2.0
"""Replies to approval mails: tokens, parser and checks.

A token names request, level and user of the mail that contains it. It is signed for one tenant, and says nothing about
the sender: the caller compares the address. Nothing here does I/O.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from email.utils import getaddresses
from html.parser import HTMLParser
from typing import Final
from uuid import UUID

from chamberlain.core.errors import Fault, NotPossible
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.core.text import one_line
from chamberlain.requests.rules import Action

# Longest beginning of a mail that is parsed, in bytes.
LONGEST_MAIL = 262_144
# Longest comment of a decision, as of the API.
LONGEST_REASON = 1_024
# Most parts that are read. The text of a reply comes before its attachments.
_MOST_PARTS = 50
# Half of the signature. RFC 2104, 5 recommends no less than half, and a token fits into a line of a mail.
_SIGNATURE_BYTES: Final = 16
_PREFIX: Final = "CR1."
_PURPOSE: Final = "approval reply"
_IDS: Final = 16
_LENGTH: Final = 2 * _IDS + 1 + _SIGNATURE_BYTES
_TOKEN = re.compile(r"CR1\.[A-Za-z0-9_-]{66}(?![A-Za-z0-9_-])")
_POINTER: Final = "/mail"
# Stricter than the RFC. The library takes comments and groups apart in ways that differ by its version.
_ADDRESS = re.compile(r"[^\s@<>()\[\]\\,;:\"]+@[^\s@<>()\[\]\\,;:\"]+")


@dataclass(frozen=True, slots=True)
class Asking:
    """One mail that asks a user for a decision."""

    tenant_id: TenantId
    request_id: RequestId
    level: int
    user: UserId


@dataclass(frozen=True, slots=True)
class ReplyTokens:
    """Sign and verify the tokens of approval mails.

    `signature` signs a message for a purpose, and `is_signed` verifies a beginning of that signature.
    """

    signature: Callable[[bytes, str], bytes]
    is_signed: Callable[[bytes, bytes, str], bool]

    def sign(self, asking: Asking) -> str:
        """Return the token of a mail, the same at each retry."""
        message = asking.request_id.bytes + asking.user.bytes + bytes([asking.level])
        signature = self.signature(message, _purpose(asking.tenant_id))[:_SIGNATURE_BYTES]
        return _PREFIX + base64.urlsafe_b64encode(message + signature).rstrip(b"=").decode("ascii")

    def read(self, token: str, tenant_id: TenantId) -> Asking:
        """Return the mail of a token.

        Raises NotPossible for a token that was not signed for this tenant.
        """
        text = token.removeprefix(_PREFIX)
        try:
            content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except (binascii.Error, ValueError) as error:
            raise _token_invalid() from error
        message, signature = content[:-_SIGNATURE_BYTES], content[-_SIGNATURE_BYTES:]
        if len(content) != _LENGTH or not self.is_signed(message, signature, _purpose(tenant_id)):
            raise _token_invalid()
        request_id, user = UUID(bytes=message[:_IDS]), UUID(bytes=message[_IDS : 2 * _IDS])
        return Asking(tenant_id, RequestId(request_id), message[-1], UserId(user))


@dataclass(frozen=True, slots=True)
class Reply:
    """The decision in a mail, with the token that it carries.

    `sender` is the address of From, in lower case. A rejection has a reason.
    """

    sender: str
    token: str
    action: Action
    reason: str | None


# The words of a decision in the languages of the mails.
_APPROVE = re.compile(r"(?:approve|approved|genehmigen|genehmigt)[.!]?", re.IGNORECASE)
_REJECT = re.compile(r"(?:reject|rejected|ablehnen|abgelehnt)\s*:\s*(.*)", re.IGNORECASE)


def parse_reply(raw: bytes) -> Reply:
    """Parse a raw mail (RFC 5322).

    Only the first `LONGEST_MAIL` bytes are read. Raises NotPossible with the reason why it decides nothing.
    """
    try:
        mail = message_from_bytes(raw[:LONGEST_MAIL])
        texts = list(_texts(mail))
    except (RecursionError, ValueError, LookupError, TypeError) as error:
        # The parser of the library raises these for some malformed mails.
        raise _refused(
            Fault.build(_POINTER, "replyUnreadable", "This is no mail in the format of RFC 5322.")
        ) from error
    automatic = str(mail.get("Auto-Submitted", "no")).split(";")[0].strip().lower()
    if automatic != "no":
        raise _refused(
            Fault.build(_POINTER, "replyAutomatic", "This mail was sent automatically. Only a person decides.")
        )
    sender = _sender(mail)
    tokens = {token for text in texts for token in _TOKEN.findall(text)}
    if len(tokens) != 1:
        sentence = "The mail has no reply code, or several. Reply to the approval mail, and keep the quoted message."
        raise _refused(Fault.build(_POINTER, "replyWithoutToken", sentence))
    action, reason = _decision(texts[0] if texts else "")
    return Reply(sender, tokens.pop(), action, reason)


def require_sender(reply: Reply, address: str | None) -> None:
    """Raise NotPossible unless the reply comes from this address.

    Case does not matter.
    """
    if address is None or reply.sender != address.lower():
        raise _refused(
            Fault.build(
                _POINTER, "replySenderDiffers", "The mail does not come from the address that was asked for a decision."
            )
        )


def _sender(mail: Message) -> str:
    headers = mail.get_all("From", [])
    addresses = [address for _, address in getaddresses([str(each) for each in headers])]
    if len(headers) != 1 or len(addresses) != 1 or _ADDRESS.fullmatch(addresses[0]) is None:
        raise _refused(Fault.build(_POINTER, "replySenderDiffers", "A reply has one sender, in one From header."))
    return addresses[0].lower()


def _texts(mail: Message) -> Iterator[str]:
    """Yield the texts of a mail, plain text first."""
    parts = [part for _, part in zip(range(_MOST_PARTS), mail.walk(), strict=False) if not part.is_multipart()]
    for kind in ("text/plain", "text/html"):
        for part in parts:
            if part.get_content_type() == kind and part.get_content_disposition() != "attachment":
                text = _decoded(part)
                yield text if kind == "text/plain" else _text_of(text)


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    try:
        return content.decode(part.get_content_charset() or "utf-8", errors="replace")
    except LookupError:
        return content.decode("utf-8", errors="replace")


class _TextOfHtml(HTMLParser):
    """Collects the text of HTML, with the line breaks that it shows."""

    _BREAKS = frozenset({"br", "p", "div", "tr", "li", "blockquote", "hr", "h1", "h2", "h3"})
    _HIDDEN = frozenset({"style", "script", "title"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - of the library.
        self._hidden += tag in self._HIDDEN
        if tag in self._BREAKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in self._HIDDEN and self._hidden > 0
        if tag in self._BREAKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            # A line break in the source of HTML is a space.
            self.parts.append(" ".join(data.splitlines()))


def _text_of(html: str) -> str:
    parser = _TextOfHtml()
    parser.feed(html)
    parser.close()
    return "".join(parser.parts)


def _decision(text: str) -> tuple[Action, str | None]:
    """Read the decision from the first line that is not empty.

    The reason of a rejection ends at the first empty or quoted line.
    """
    lines = [line.strip().strip("\u200b\ufeff\u00a0") for line in text.splitlines()]
    first = next((place for place, line in enumerate(lines) if line), None)
    if first is None:
        raise _unclear()
    if _APPROVE.fullmatch(lines[first]):
        return Action.APPROVE, None
    rejection = _REJECT.fullmatch(lines[first])
    if rejection is None:
        raise _unclear()
    reason = [rejection[1], *_rest(lines[first + 1 :])]
    sentence = one_line(" ".join(each for each in reason if each)).strip()
    if not sentence:
        raise _unclear()
    return Action.REJECT, sentence[:LONGEST_REASON]


def _rest(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not line or line.startswith(">") or line == "--":
            return
        yield line


def _purpose(tenant_id: TenantId) -> str:
    return f"{_PURPOSE}/{tenant_id}"


def _unclear() -> NotPossible:
    sentence = 'The first line of the mail must be "approve", or "reject:" and a reason.'
    return _refused(Fault.build(_POINTER, "replyUnclear", sentence))


def _token_invalid() -> NotPossible:
    return _refused(
        Fault.build(
            _POINTER, "replyTokenInvalid", "The reply code of the mail is not one of this tenant, or its key is gone."
        )
    )


def _refused(fault: Fault) -> NotPossible:
    return NotPossible([fault])
