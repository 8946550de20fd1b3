# SPDX-License-Identifier: Apache-2.0
"""Send e-mail by SMTP.

Messages are plain text with HTML as alternative. The headers are encoded here. The library would first parse a text,
decode encoded words (RFC 2047) with line breaks in it, and lose quotes and spaces on folding.
"""

import asyncio
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime
from enum import Enum, auto
from functools import cache
from urllib.parse import unquote, urlsplit

from aiosmtplib import (
    SMTP,
    SMTPException,
    SMTPNotSupported,
    SMTPRecipientsRefused,
    SMTPResponseException,
    SMTPSenderRefused,
)

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.text import one_line
from chamberlain.notifications.rendering import Mail


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of all mail.

    `reply_to` is the address that takes replies to approval mails, None if there is none.
    """

    name: str
    address: str
    reply_to: str | None = None

    @property
    def domain(self) -> str:
        """Return the domain of the address."""
        return self.address.rpartition("@")[2]


# Where mail servers listen: RFC 5321, 4.5.4.2, and RFC 8314, 7.3.
SMTP_PORT = 25
SMTPS_PORT = 465


class Protection(Enum):
    """How the connection is encrypted.

    By TLS from the start, by STARTTLS, by STARTTLS if offered, or not at all.
    """

    TLS = auto()
    STARTTLS = auto()
    OFFERED = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True)
class SmtpAddress:
    """A mail server. `user` is None for no authentication."""

    host: str
    port: int
    protection: Protection
    user: str | None
    password: str | None = field(repr=False)


# Timeout of the connection and of each reply. RFC 5321, 4.5.3.2, recommends minutes. A server that scans for spam
# before it accepts a message would need longer at each retry.
CONNECT_TIMEOUT = timedelta(seconds=10)
REPLY_TIMEOUT = timedelta(minutes=2)
# Timeout of all messages of one call.
TOTAL_TIMEOUT = timedelta(minutes=5)
# Stored length of a server's reply.
MAX_REPLY_TEXT = 300
# The schedule of notices determines the wait.
_RETRY = timedelta(0)

# Loading the authorities of the system takes tens of milliseconds, in which no other job runs.
_default_tls = cache(ssl.create_default_context)


@dataclass(frozen=True, slots=True)
class MailServer:
    """Send messages to one server, over one connection per call."""

    address: SmtpAddress
    sender: Sender
    tls: ssl.SSLContext = field(default_factory=_default_tls)

    async def send(self, mails: Sequence[Mail]) -> Sequence[OutsideFault | None]:
        """Send mails, and return the outcome of each.

        None means accepted, TryAgain a temporary and Rejected a permanent failure. Raises TryAgain if the server cannot
        be used at all.
        """
        outcomes: list[OutsideFault | None] = []
        client = self._client()
        try:
            async with asyncio.timeout(TOTAL_TIMEOUT.total_seconds()):
                await _connect(client)
                for mail in mails:
                    outcomes.append(await self._send_one(client, mail))  # noqa: PERF401 - mails sent before a timeout count
                await _quit(client)
        except TimeoutError:
            slow = TryAgain(_RETRY, "The mail server takes too long.")
            outcomes.extend(slow for _ in range(len(mails) - len(outcomes)))
        finally:
            client.close()
        return outcomes

    async def send_encoded(self, sender: str, recipients: Sequence[str], content: bytes) -> OutsideFault | None:
        """Send an encoded message to all recipients at once.

        The outcome is that of the first recipient, as of `send`. The others are copies: they are refused without
        notice. Raises TryAgain if the server cannot be used at all.
        """
        client = self._client()
        try:
            async with asyncio.timeout(TOTAL_TIMEOUT.total_seconds()):
                await _connect(client)
                outcome = await _send_to_all(client, sender, recipients, content)
                await _quit(client)
                return outcome
        except TimeoutError:
            return TryAgain(_RETRY, "The mail server takes too long.")
        finally:
            client.close()

    def _client(self) -> SMTP:
        address = self.address
        return SMTP(
            hostname=address.host,
            port=address.port,
            username=address.user,
            password=address.password,
            # Looking up the name of this machine can take long, and would disclose it.
            local_hostname=self.sender.domain,
            timeout=REPLY_TIMEOUT.total_seconds(),
            use_tls=address.protection is Protection.TLS,
            start_tls=_start_tls(address.protection),
            tls_context=self.tls,
        )

    async def _send_one(self, client: SMTP, mail: Mail) -> OutsideFault | None:
        try:
            content, to = encode_message(mail, self.sender), encode_address(mail.address)
            options = () if to.isascii() else ("SMTPUTF8",)
            await client.sendmail(self.sender.address, [to], content, mail_options=options)
        except SMTPRecipientsRefused as error:
            return _refusal(error.recipients[0])
        except SMTPSenderRefused as error:
            # The refusal concerns our sender address, which the operator can fix.
            return TryAgain(_RETRY, _describe("refuses our sender address", error))
        except SMTPResponseException as error:
            return _refusal(error)
        except (SMTPNotSupported, ValueError) as error:
            return Rejected(
                "addressRefused", f"The mail server does not support this address ({type(error).__name__})."
            )
        except (SMTPException, OSError) as error:
            return TryAgain(_RETRY, f"The connection to the mail server broke off ({type(error).__name__}).")
        return None


async def _send_to_all(client: SMTP, sender: str, recipients: Sequence[str], content: bytes) -> OutsideFault | None:
    try:
        refused, _ = await client.sendmail(sender, list(recipients), content)
    except SMTPRecipientsRefused as error:
        return _refusal(error.recipients[0])
    except SMTPSenderRefused as error:
        return TryAgain(_RETRY, _describe("refuses the sender address", error))
    except SMTPResponseException as error:
        return _refusal(error)
    except (SMTPNotSupported, ValueError) as error:
        return Rejected("addressRefused", f"The mail server does not support this address ({type(error).__name__}).")
    except (SMTPException, OSError) as error:
        return TryAgain(_RETRY, f"The connection to the mail server broke off ({type(error).__name__}).")
    if (answer := refused.get(recipients[0])) is not None:
        return _refusal(SMTPResponseException(answer.code, answer.message))
    return None


def encode_message(mail: Mail, sender: Sender) -> bytes:
    """Encode a message.

    It is the same at each retry, apart from its boundaries.

    Raises ValueError if a value does not fit into a header.
    """
    content = EmailMessage(policy=SMTP_POLICY)
    content.set_content(mail.text, cte="quoted-printable")
    content.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    for part in content.iter_parts():
        part["Content-Language"] = mail.language
    # Only an address can be other than ASCII here, and then the server takes UTF-8 (RFC 6532).
    return "".join([f"{line}\r\n" for line in _headers(mail, sender)]).encode() + content.as_bytes()


def encode_address(address: str) -> str:
    """Encode the domain in ASCII. Raises ValueError if that is impossible."""
    local, _, domain = address.rpartition("@")
    if domain.isascii():
        return address
    encoded = domain.encode("idna")
    if encoded.decode("idna") != domain.lower():
        # Python implements IDNA 2003, which maps `ß` to `ss`. Since RFC 5891 that is another domain.
        raise ValueError("The domain has no unambiguous ASCII form.")
    return f"{local}@{encoded.decode()}"


def parse_smtp_url(url: str) -> SmtpAddress:
    """Parse a URL such as `smtp://user:password@host:port?starttls=required`.

    The settings have validated its form.
    """
    parts = urlsplit(url)
    is_tls = parts.scheme == "smtps"
    return SmtpAddress(
        host=parts.hostname or "",
        port=parts.port or (SMTPS_PORT if is_tls else SMTP_PORT),
        protection=Protection.TLS if is_tls else _protection(parts.query, has_password=parts.password is not None),
        user=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
    )


async def _connect(client: SMTP) -> None:
    """Connect.

    Raises TryAgain, also for a wrong password, which the operator can fix.
    """
    try:
        await client.connect(timeout=CONNECT_TIMEOUT.total_seconds())
    except SMTPResponseException as error:
        raise TryAgain(_RETRY, _describe("refuses the connection", error)) from error
    except (SMTPException, OSError, ValueError) as error:
        raise TryAgain(_RETRY, f"The mail server cannot be reached: {one_line(str(error))[:MAX_REPLY_TEXT]}") from error


async def _quit(client: SMTP) -> None:
    """Close the session. The mails are accepted, so errors do not matter."""
    try:
        await client.quit()
    except (SMTPException, OSError):
        return


def _start_tls(protection: Protection) -> bool | None:
    match protection:
        case Protection.STARTTLS:
            return True
        case Protection.OFFERED:
            return None
        case Protection.TLS | Protection.NONE:
            return False


def _refusal(error: SMTPResponseException) -> OutsideFault:
    """Convert a refusal. Codes from 500 are permanent (RFC 5321, 4.2.1)."""
    if 500 <= error.code <= 599:
        return Rejected("mailRefused", _describe("refuses it", error))
    return TryAgain(_RETRY, _describe("defers it", error))


def _describe(action: str, error: SMTPResponseException) -> str:
    return f"The mail server {action}: {error.code} {one_line(error.message)[:MAX_REPLY_TEXT]}"


def _headers(mail: Mail, sender: Sender) -> Iterator[str]:
    yield f"From: {_mailbox(sender.name, sender.address)}"
    yield f"To: {_mailbox(mail.name, encode_address(mail.address))}"
    if mail.takes_reply and sender.reply_to is not None:
        yield f"Reply-To: {_mailbox('', encode_address(sender.reply_to))}"
    yield f"Subject: {_encode_words(mail.subject)}"
    yield f"Date: {format_datetime(mail.at)}"
    yield f"Message-ID: <{_require_one_line(mail.id)}@{sender.domain}>"
    # Prevents automatic replies (RFC 3834, 5, and Exchange).
    yield "Auto-Submitted: auto-generated"
    yield "X-Auto-Response-Suppress: All"


def _protection(query: str, *, has_password: bool) -> Protection:
    if query == "starttls=never":
        return Protection.NONE
    # A password is never sent unencrypted unless the settings say so.
    return Protection.STARTTLS if has_password or query == "starttls=required" else Protection.OFFERED


def _mailbox(name: str, address: str) -> str:
    # On a line of its own, since either may be long.
    return f"{_encode_words(name)}\r\n <{_require_one_line(address)}>" if name else f"<{_require_one_line(address)}>"


def _encode_words(text: str) -> str:
    """Encode and fold a text as encoded words.

    Its content cannot add headers.
    """
    return Header(_require_one_line(text), "utf-8", header_name="Subject").encode(linesep="\r\n")


def _require_one_line(text: str) -> str:
    if "\r" in text or "\n" in text:
        raise ValueError("A header value must be one line.")
    return text
