"""A real mail server for tests, on loopback: it takes what it is given, unless a test has it refuse something."""

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
    """A message, whom its envelope named, and what the connection was."""

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
class PostOffice:
    """What was delivered. `refusals` are answers to recipients, such as `550 unknown`, `data_answer` one to every
    message; with `holds` it has every message and does not say so."""

    port: int = 0
    received: list[Received] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    sender_answer: str | None = None
    data_answer: str | None = None
    holds: bool = False
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"smtp://127.0.0.1:{self.port}"

    @property
    def recipients(self) -> Sequence[str]:
        """Whom it has something for, in alphabetical order."""
        return sorted(each.to for each in self.received)

    def to(self, address: str) -> Received:
        """The one message for somebody."""
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


def let_in(_server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: object) -> AuthResult:
    """Let in who knows the password."""
    known = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=known, handled=False)


@asynccontextmanager
async def open_post_office(
    office: PostOffice, *, starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None, asks: bool = False
) -> AsyncIterator[PostOffice]:
    """Open at its port, or at a free one; with STARTTLS or TLS where a context is given. `asks` is for a password."""
    loop = asyncio.get_running_loop()
    connections: list[SMTP] = []

    def connection() -> SMTP:
        with warnings.catch_warnings():
            # It warns of passwords without TLS, which is what a test asks for.
            warnings.simplefilter("ignore")
            made = SMTP(
                office,
                hostname="localhost",
                ident="test",
                tls_context=starttls,
                authenticator=let_in if asks else None,
                auth_required=asks,
                auth_require_tls=False,
                enable_SMTPUTF8=True,
                loop=loop,
            )
        connections.append(made)
        return made

    server = await loop.create_server(connection, "127.0.0.1", office.port, ssl=tls)
    office.port = server.sockets[0].getsockname()[1]
    try:
        yield office
    finally:
        server.close()
        for each in connections:
            if each.transport is not None:
                each.transport.close()
        await server.wait_closed()
