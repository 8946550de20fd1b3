# SPDX-License-Identifier: Apache-2.0
"""Replies to approval mails: tokens, parser and checks.

A token names request, level and user of the mail that contains it. It is signed for one tenant, and says nothing about
the sender: the caller compares the address. Nothing here does I/O.
"""

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import Message
from html import unescape
from typing import Final
from uuid import UUID

from chamberlain.core.errors import Fault, NotPossible
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.core.mails import MALFORMED, parse_mail, parts_of, sender_of
from chamberlain.core.text import one_line
from chamberlain.requests.rules import Action

# Longest beginning of a mail that is parsed, in bytes.
LONGEST_MAIL = 262_144
# Longest comment of a decision, as of the API.
LONGEST_REASON = 1_024
# Encodings of Python that are no charsets of mails. Some of them need time that grows with the square of the length.
_NO_CHARSETS = frozenset({"punycode", "idna", "undefined", "unicode_escape", "raw_unicode_escape"})
# Half of the signature. RFC 2104, 5 recommends no less than half, and a token fits into a line of a mail.
_SIGNATURE_BYTES: Final = 16
_PREFIX: Final = "CR1."
_PURPOSE: Final = "approval reply"
_IDS: Final = 16
_LENGTH: Final = 2 * _IDS + 1 + _SIGNATURE_BYTES
_TOKEN = re.compile(r"CR1\.[A-Za-z0-9_-]{66}(?![A-Za-z0-9_-])")
_POINTER: Final = "/mail"


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
    raw = raw[:LONGEST_MAIL]
    try:
        mail = parse_mail(raw)
        texts = list(_texts(mail))
    except MALFORMED as error:
        raise _unreadable() from error
    automatic = str(mail.get("Auto-Submitted", "no")).split(";")[0].strip().lower()
    if automatic != "no":
        raise _refused(
            Fault.build(_POINTER, "replyAutomatic", "This mail was sent automatically. Only a person decides.")
        )
    sender = sender_of(mail)
    if sender is None:
        raise _refused(Fault.build(_POINTER, "replySenderDiffers", "A reply has one sender, in one From header."))
    tokens = {token for text in texts for token in _TOKEN.findall(text)}
    if len(tokens) != 1:
        sentence = "The mail has no reply code, or several. Reply to the approval mail, and keep the quoted message."
        raise _refused(Fault.build(_POINTER, "replyWithoutToken", sentence))
    action, reason = parse_decision(texts[0] if texts else "")
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


def _texts(mail: Message) -> Iterator[str]:
    """Yield the texts of a mail in their order.

    Plain text comes before HTML with the same content (RFC 2046, 5.1.4).
    """
    for part in parts_of(mail):
        if not part.is_multipart() and part.get_content_disposition() != "attachment":
            match part.get_content_type():
                case "text/plain":
                    yield _decoded(part)
                case "text/html":
                    yield _text_of(_decoded(part))
                case _:
                    pass


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    return content.decode(_charset(part), errors="replace")


def _charset(part: Message) -> str:
    charset = part.get_content_charset() or "utf-8"
    try:
        name = codecs.lookup(charset).name
        b"".decode(charset)
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if name.replace("-", "_") in _NO_CHARSETS else charset


# The rest of a tag, whose values may have any character.
_TAG = re.compile(r"""(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9]*+)(?:[^"'>]|"[^"]*+"|'[^']*+')*+>""")
_BREAKS = frozenset({"br", "p", "div", "tr", "li", "blockquote", "hr", "h1", "h2", "h3"})
_HIDDEN = frozenset({"style", "script", "title"})


def _text_of(html: str) -> str:
    """Return the text of HTML, with the line breaks that it shows.

    The parser of the library takes minutes for some mails. Here each place is read once. A tag, comment or style sheet
    without an end ends the text.
    """
    return "".join(_shown(html))


def _shown(html: str) -> Iterator[str]:
    place = 0
    while (begin := html.find("<", place)) >= 0:
        yield _words(html[place:begin])
        place = begin + 1
        if html[place : place + 1] in {"!", "?"}:
            place = _behind(html, "-->" if html.startswith("!--", place) else ">", place)
        elif html[place : place + 1].isalpha() or html.startswith("/", place):
            tag = _TAG.match(html, place)
            if tag is None:
                return
            name, place = tag["name"].lower(), tag.end()
            if name in _BREAKS:
                yield "\n"
            if name in _HIDDEN and not tag["end"]:
                found = re.compile(f"</{name}", re.IGNORECASE).search(html, place)
                place = len(html) if found is None else found.start()
        else:
            yield "<"
    yield _words(html[place:])


def _words(text: str) -> str:
    # A line break in the source of HTML is a space.
    return " ".join(unescape(text).splitlines())


def _behind(html: str, end: str, place: int) -> int:
    """Return the place behind a text, or the end."""
    found = html.find(end, place)
    return len(html) if found < 0 else found + len(end)


def parse_decision(text: str) -> tuple[Action, str | None]:
    """Read the decision from the first line that is not empty.

    The reason of a rejection ends at the first empty or quoted line. Raises NotPossible if there is no decision.
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


def _unreadable() -> NotPossible:
    return _refused(Fault.build(_POINTER, "replyUnreadable", "This is no mail in the format of RFC 5322."))


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
