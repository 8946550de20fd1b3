"""Messages as they go over the wire: plain text with HTML beside it, and headers that hold what they should alone.

The headers are written here and not by the library: that one reads a text before it writes it, decodes what looks
like an encoded word (RFC 2047) with the line breaks in it, and loses quotes and spaces when it folds a long line.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from chamberlain.notifications.rendering import Mail


@dataclass(frozen=True, slots=True)
class Sender:
    """Whom mail comes from."""

    name: str
    address: str

    @property
    def domain(self) -> str:
        """What stands behind the @."""
        return self.address.rpartition("@")[2]


def message_of(mail: Mail, sender: Sender) -> bytes:
    """The message, the same at every try but for the marks between its parts. Raises ValueError when something of it
    cannot stand in a header."""
    content = EmailMessage(policy=SMTP)
    content.set_content(mail.text, cte="quoted-printable")
    content.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    for part in content.iter_parts():
        part["Content-Language"] = mail.language
    # Only an address can be other than ASCII here, and then the server takes UTF-8 (RFC 6532).
    return "".join([f"{line}\r\n" for line in _headers(mail, sender)]).encode() + content.as_bytes()


def wire_address(address: str) -> str:
    """The address with its domain in ASCII, which every server understands. Raises ValueError when that is none."""
    local, _, domain = address.rpartition("@")
    if domain.isascii():
        return address
    encoded = domain.encode("idna")
    if encoded.decode("idna") != domain.lower():
        # Python knows IDNA 2003, by which `ß` is `ss`: somebody else's domain since RFC 5891.
        raise ValueError("This domain has no form in ASCII that is surely its own.")
    return f"{local}@{encoded.decode()}"


def _headers(mail: Mail, sender: Sender) -> Iterator[str]:
    yield f"From: {_named(sender.name, sender.address)}"
    yield f"To: {_named(mail.name, wire_address(mail.address))}"
    yield f"Subject: {_encoded(mail.subject)}"
    yield f"Date: {format_datetime(mail.at)}"
    yield f"Message-ID: <{_one_line(mail.id)}@{sender.domain}>"
    # No answers by machines: RFC 3834, 5, and what Exchange goes by.
    yield "Auto-Submitted: auto-generated"
    yield "X-Auto-Response-Suppress: All"


def _named(name: str, address: str) -> str:
    # On a line of its own, since either may be long.
    return f"{_encoded(name)}\r\n <{_one_line(address)}>" if name else f"<{_one_line(address)}>"


def _encoded(text: str) -> str:
    """The text as encoded words, folded: whatever stands in it is nothing but text."""
    return Header(_one_line(text), "utf-8", header_name="Subject").encode(linesep="\r\n")


def _one_line(text: str) -> str:
    if "\r" in text or "\n" in text:
        raise ValueError("What stands in a header is one line.")
    return text
