# SPDX-License-Identifier: Apache-2.0
"""A fake SMTP server on loopback. It accepts every message that a test does not refuse."""

import asyncio
import ssl
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "chamberlain", "pass:wörd/@?"


@dataclass(frozen=True, slots=True)
class Received:
    """A received message with its envelope and connection."""

    to: str
    sender: str
    message: EmailMessage
    is_protected: bool
    signed_in: bool

    def part(self, subtype: str) -> str:
        """The text of a part, `plain` or `html`."""
        part = self.message.get_body((subtype,))
        assert part is not None
        return str(part.get_content())


@dataclass(slots=True)
class FakeSmtpServer:
    """An SMTP server that keeps its messages.

    `refusals` are replies per recipient, such as `550 unknown`; `data_answer` is the reply to every message. With
    `holds`, it stores a message and never replies.
    """

    port: int = 0
    received: list[Received] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    sender_answer: str | None = None
    data_answer: str | None = None
    holds: bool = False
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """URL of the server."""
        return f"smtp://127.0.0.1:{self.port}"

    @property
    def recipients(self) -> Sequence[str]:
        """Recipients of all messages, sorted."""
        return sorted(each.to for each in self.received)

    def to(self, address: str) -> Received:
        """Return the only message for an address."""
        (found,) = [each for each in self.received if each.to == address]
        return found

    async def handle_MAIL(  # noqa: N802 - the library's word
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.sender_answer is not None:
            return self.sender_answer
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802 - the library's word
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if (refusal := self.refusals.get(address)) is not None:
            return refusal
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - the library's word
        if self.data_answer is not None:
            return self.data_answer
        assert isinstance(envelope.content, bytes)
        message = message_from_bytes(envelope.content, policy=default)
        assert isinstance(message, EmailMessage)
        assert server.transport is not None
        (to,), is_protected = envelope.rcpt_tos, server.transport.get_extra_info("sslcontext") is not None
        sender, signed_in = envelope.mail_from or "", bool(session.authenticated)
        self.received.append(Received(to, sender, message, is_protected, signed_in))
        self.arrived.set()
        if self.holds:
            await asyncio.Event().wait()
        return "250 OK"


def authenticate(_server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: object) -> AuthResult:
    """Check the user name and the password."""
    known = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=known, handled=False)


@asynccontextmanager
async def open_smtp_server(
    fake_server: FakeSmtpServer,
    *,
    starttls: ssl.SSLContext | None = None,
    tls: ssl.SSLContext | None = None,
    requires_password: bool = False,
) -> AsyncIterator[FakeSmtpServer]:
    """Serve on its port, or on a free one.

    A context enables STARTTLS or TLS; `requires_password` enables authentication.
    """
    loop = asyncio.get_running_loop()
    connections: list[SMTP] = []

    def connection() -> SMTP:
        with warnings.catch_warnings():
            # aiosmtpd warns about passwords without TLS, which the tests need.
            warnings.simplefilter("ignore")
            made = SMTP(
                fake_server,
                hostname="localhost",
                ident="test",
                tls_context=starttls,
                authenticator=authenticate if requires_password else None,
                auth_required=requires_password,
                auth_require_tls=False,
                enable_SMTPUTF8=True,
                loop=loop,
            )
        connections.append(made)
        return made

    server = await loop.create_server(connection, "127.0.0.1", fake_server.port, ssl=tls)
    fake_server.port = server.sockets[0].getsockname()[1]
    try:
        yield fake_server
    finally:
        server.close()
        for each in connections:
            if each.transport is not None:
                each.transport.close()
        await server.wait_closed()
