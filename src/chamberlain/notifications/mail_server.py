"""The mail server: messages are handed to it one after another, and each has its own outcome."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, auto
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
from chamberlain.notifications.messages import Sender, message_of, wire_address
from chamberlain.notifications.rendering import Mail

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


# How long the server may take for the connection with its greeting, and for each answer. RFC 5321, 4.5.3.2, gives it
# minutes: one that looks for spam before it says that it has a message would be given that again and again.
CONNECT = timedelta(seconds=10)
ANSWER = timedelta(minutes=2)
# For all messages of one call together.
ALTOGETHER = timedelta(minutes=5)
# The end of what a server says that a log line may hold.
MOST_SAID = 300

# What there is to hope for later: how long that takes is for the schedule of notices to say.
_SOON = timedelta(0)


@dataclass(frozen=True, slots=True)
class MailServer:
    """Hands messages to the server that has this address, with a connection for each call."""

    address: SmtpAddress
    sender: Sender
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    async def send(self, mails: Sequence[Mail]) -> Sequence[OutsideFault | None]:
        """What became of each: None where the server has it, TryAgain where it may have it later, Rejected where never.
        Raises TryAgain when the server is not to be spoken to at all."""
        outcomes: list[OutsideFault | None] = []
        client = self._client()
        try:
            async with asyncio.timeout(ALTOGETHER.total_seconds()):
                await _connect(client)
                for mail in mails:
                    outcomes.append(await self._send_one(client, mail))  # noqa: PERF401 - what is done counts if time runs out
                await _take_leave(client)
        except TimeoutError:
            slow = TryAgain(_SOON, "The mail server takes too long.")
            outcomes.extend(slow for _ in range(len(mails) - len(outcomes)))
        finally:
            client.close()
        return outcomes

    def _client(self) -> SMTP:
        address = self.address
        return SMTP(
            hostname=address.host,
            port=address.port,
            username=address.user,
            password=address.password,
            # The name of this machine is asked of nobody, which can take long, and told to nobody.
            local_hostname=self.sender.domain,
            timeout=ANSWER.total_seconds(),
            use_tls=address.protection is Protection.TLS,
            start_tls=_start_tls(address.protection),
            tls_context=self.tls,
        )

    async def _send_one(self, client: SMTP, mail: Mail) -> OutsideFault | None:
        try:
            content, to = message_of(mail, self.sender), wire_address(mail.address)
            options = () if to.isascii() else ("SMTPUTF8",)
            await client.sendmail(self.sender.address, [to], content, mail_options=options)
        except SMTPRecipientsRefused as error:
            return _refusal(error.recipients[0])
        except SMTPSenderRefused as error:
            # It is about us, and about nobody whom we write to: the operator can mend that.
            return TryAgain(_SOON, _said("does not take mail from us", error))
        except SMTPResponseException as error:
            return _refusal(error)
        except (SMTPNotSupported, ValueError) as error:
            return Rejected("addressRefused", f"The mail server cannot be given this address ({type(error).__name__}).")
        except (SMTPException, OSError) as error:
            return TryAgain(_SOON, f"The connection to the mail server broke off ({type(error).__name__}).")
        return None


async def _connect(client: SMTP) -> None:
    """Raises TryAgain. A wrong password is no reason to give up: it may be mended while notices wait."""
    try:
        await client.connect(timeout=CONNECT.total_seconds())
    except SMTPResponseException as error:
        raise TryAgain(_SOON, _said("does not let us in", error)) from error
    except (SMTPException, OSError, ValueError) as error:
        raise TryAgain(_SOON, f"The mail server cannot be reached: {one_line(str(error))[:MOST_SAID]}") from error


async def _take_leave(client: SMTP) -> None:
    """Whether it answers does not matter any more: it has taken over what it has taken."""
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
    """RFC 5321, 4.2.1: what begins with 5 is for good. Whatever else is no consent may change."""
    if 500 <= error.code <= 599:
        return Rejected("mailRefused", _said("refuses it", error))
    return TryAgain(_SOON, _said("puts it off", error))


def _said(what: str, error: SMTPResponseException) -> str:
    return f"The mail server {what}: {error.code} {one_line(error.message)[:MOST_SAID]}"
