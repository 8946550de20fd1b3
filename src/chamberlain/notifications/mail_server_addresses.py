"""Where the mail server is, and how it is spoken to, read from one address."""

from dataclasses import dataclass, field
from enum import Enum, auto
from urllib.parse import unquote, urlsplit

# Where mail servers listen: RFC 5321, 4.5.4.2, and RFC 8314, 7.3.
SMTP_PORT = 25
SMTPS_PORT = 465


class Protection(Enum):
    """How the connection is kept from others: by TLS from the start, by STARTTLS, by it where it is offered, or not."""

    TLS = auto()
    STARTTLS = auto()
    OFFERED = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True)
class SmtpAddress:
    """A mail server. Without a user nobody signs in."""

    host: str
    port: int
    protection: Protection
    user: str | None
    password: str | None = field(repr=False)


def read_address(url: str) -> SmtpAddress:
    """What `smtp://user:password@host:port?starttls=required` says; the settings have seen that it is of this form."""
    parts = urlsplit(url)
    is_tls = parts.scheme == "smtps"
    return SmtpAddress(
        host=parts.hostname or "",
        port=parts.port or (SMTPS_PORT if is_tls else SMTP_PORT),
        protection=Protection.TLS if is_tls else _protection(parts.query, has_password=parts.password is not None),
        user=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
    )


def _protection(query: str, *, has_password: bool) -> Protection:
    if query == "starttls=never":
        return Protection.NONE
    # A password never goes out unprotected unless somebody says so.
    return Protection.STARTTLS if has_password or query == "starttls=required" else Protection.OFFERED
