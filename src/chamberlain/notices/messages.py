"""Messages as they go over the wire: plain text with HTML beside it, and headers that hold one line each."""

from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime

from chamberlain.rules.notice_mails import Mail


@dataclass(frozen=True, slots=True)
class Sender:
    """Whom mail comes from."""

    name: str
    address: str

    @property
    def domain(self) -> str:
        """What stands behind the @."""
        return self.address.rpartition("@")[2]


def message_of(mail: Mail, sender: Sender) -> EmailMessage:
    """The message, the same at every try. Raises ValueError when the address cannot stand in a header."""
    to = wire_address(mail.address)
    message = EmailMessage(policy=SMTP if to.isascii() else SMTPUTF8)
    message["From"] = _named(sender.name, sender.address)
    message["To"] = _named(mail.name, to)
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(mail.at)
    message["Message-ID"] = f"<{mail.id}@{sender.domain}>"
    # No answers by machines: RFC 3834, 5, and what Exchange goes by.
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message.set_content(mail.text, cte="quoted-printable")
    message.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    for part in message.iter_parts():
        part["Content-Language"] = mail.language
    return message


def wire_address(address: str) -> str:
    """The address with its domain in ASCII, which every server understands. Raises ValueError when that is none."""
    local, _, domain = address.rpartition("@")
    return f"{local}@{domain if domain.isascii() else domain.encode('idna').decode()}"


def _named(name: str, address: str) -> Address:
    local, _, domain = address.rpartition("@")
    return Address(name, local, domain)
