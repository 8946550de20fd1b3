# SPDX-License-Identifier: Apache-2.0
"""Messages are handed to a real mail server, and each has its own outcome."""

import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.utils import parseaddr
from urllib.parse import quote
from uuid import uuid4

import pytest

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import UserId
from chamberlain.embedded.identity.certificates import ServerCertificate, make_server_certificate
from chamberlain.notifications.mail_server import MailServer, Protection, Sender, parse_smtp_url
from chamberlain.notifications.rendering import Mail
from chamberlain.notifications.texts import Language
from tests.fake_smtp_server import PASSWORD, USER, FakeSmtpServer, Received, open_smtp_server

SENDER = Sender("Chamberlain of Züri", "chamberlain@estate.example")
AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
CREDENTIALS = f"{USER}:{quote(PASSWORD, safe='')}@"


def mail(address: str = "dara@estate.example", **changed: str) -> Mail:
    text = "Grüezi, 日本.\n" + "A long line. " * 100 + "\n.\n"
    subject, html = "Genehmigt: Team „Zürich“", f"<p>{text}</p>"
    one = Mail(str(uuid4()), UserId(uuid4()), address, 'Dara "D" Lindqvist', subject, text, html, Language.GERMAN, AT)
    return replace(one, **changed)  # type: ignore[arg-type]  # Only texts are changed here.


async def taken(smtp_server: FakeSmtpServer, sent: Mail) -> Received:
    """Send a mail and return the received message."""
    assert await server_at(smtp_server.url).send([sent]) == [None]
    return smtp_server.received[-1]


def mail_headers(content: Received) -> Sequence[str]:
    return content.message.keys()


def name_of_recipient(content: Received) -> str:
    """As RFC 2047 has it read; the parser of addresses puts spaces between the words of a long name."""
    name, _ = parseaddr(dict(content.message.raw_items())["To"])
    return str(make_header(decode_header(name)))


def server_at(url: str, *, trusts: str | None = None) -> MailServer:
    return MailServer(parse_smtp_url(url), SENDER, ssl.create_default_context(cadata=trusts))


@pytest.fixture
async def smtp_server() -> AsyncIterator[FakeSmtpServer]:
    async with open_smtp_server(FakeSmtpServer()) as smtp_server:
        yield smtp_server


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ServerCertificate:
    return make_server_certificate(tmp_path_factory.mktemp("certificate"), datetime.now(UTC))


async def test_it_works(smtp_server: FakeSmtpServer) -> None:
    sent = mail()

    assert await server_at(smtp_server.url).send([sent]) == [None]

    received = smtp_server.to("dara@estate.example")
    message = received.message
    assert received.sender == SENDER.address
    assert message["Subject"] == sent.subject
    assert message["Message-ID"] == f"<{sent.id}@estate.example>"
    assert message["From"].addresses[0].display_name == "Chamberlain of Züri"
    assert message["To"].addresses[0].display_name == 'Dara "D" Lindqvist'
    assert message["Date"].datetime == AT
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert [part["Content-Language"] for part in message.iter_parts()] == ["de", "de"]
    assert received.part("plain").splitlines() == sent.text.splitlines()
    assert received.part("html").splitlines() == sent.html.splitlines()


async def test_it_works_for_several_over_one_connection(smtp_server: FakeSmtpServer) -> None:
    outcomes = await server_at(smtp_server.url).send([mail(f"user{n}@estate.example") for n in range(5)])

    assert outcomes == [None] * 5
    assert len(smtp_server.received) == 5


@pytest.mark.parametrize(
    "hostile",
    [
        "=?utf-8?b?DQpCY2M6IGV2ZUBldmlsLmV4YW1wbGUNCg0KPGgxPkhpPC9oMT4=?=",
        "=?utf-8?q?=0D=0ABcc:_eve@evil.example?= and more",
        "==?utf-8?q?=0D=0A?=?utf-8?q?=0D=0ABcc:_eve@evil.example?=",
        "Lindqvist, eve@evil.example, " + "who has a name that does not fit into one line of a header, " * 3,
        'Ünal "<eve@evil.example>", ' + "Büro für Öffentlichkeitsarbeit; " * 5,
        "\\" * 80 + '"' * 80,
    ],
)
async def test_it_handles_names_that_would_be_headers_and_addresses(smtp_server: FakeSmtpServer, hostile: str) -> None:
    headers = mail_headers(await taken(smtp_server, mail()))

    received = await taken(smtp_server, mail(subject=f"Rejected: {hostile}", name=hostile))

    assert mail_headers(received) == headers
    assert [each.addr_spec for each in received.message["To"].addresses] == ["dara@estate.example"]
    assert received.message["Subject"] == f"Rejected: {hostile}"
    assert name_of_recipient(received) == hostile
    assert received.part("plain").startswith("Grüezi")


@pytest.mark.parametrize("how", ["offered", "required", "from the start"])
async def test_it_works_protected(certificate: ServerCertificate, how: str) -> None:
    from_start = how == "from the start"
    starttls, tls = (None, certificate.context) if from_start else (certificate.context, None)
    async with open_smtp_server(FakeSmtpServer(), starttls=starttls, tls=tls) as smtp_server:
        url = f"{'smtps' if from_start else 'smtp'}://127.0.0.1:{smtp_server.port}"
        server = server_at(url + "?starttls=required" * (how == "required"), trusts=certificate.authority_pem)

        assert await server.send([mail()]) == [None]

    assert smtp_server.to("dara@estate.example").is_protected


async def test_it_works_with_a_password(certificate: ServerCertificate) -> None:
    async with open_smtp_server(FakeSmtpServer(), starttls=certificate.context, requires_password=True) as smtp_server:
        server = server_at(f"smtp://{CREDENTIALS}localhost:{smtp_server.port}", trusts=certificate.authority_pem)

        assert await server.send([mail()]) == [None]

    assert smtp_server.to("dara@estate.example").signed_in
    assert smtp_server.to("dara@estate.example").is_protected


async def test_it_works_for_an_address_beyond_ascii(smtp_server: FakeSmtpServer) -> None:
    assert await server_at(smtp_server.url).send([mail("ädä@zürich.example")]) == [None]

    assert smtp_server.recipients == ["ädä@xn--zrich-kva.example"]


async def test_it_rejects_a_domain_that_would_become_another_one(smtp_server: FakeSmtpServer) -> None:
    (outcome,) = await server_at(smtp_server.url).send([mail("dara@straße.example")])

    assert isinstance(outcome, Rejected)
    assert smtp_server.recipients == []


async def test_it_rejects_one_recipient_and_goes_on(smtp_server: FakeSmtpServer) -> None:
    smtp_server.refusals = {"gone@estate.example": "550 5.1.1 unknown", "full@estate.example": "452 4.2.2 full"}

    addresses = ["gone@estate.example", "ada@estate.example", "full@estate.example", "dara@estate.example"]
    gone, ada, full, dara = await server_at(smtp_server.url).send([mail(address) for address in addresses])

    assert (ada, dara) == (None, None)
    assert isinstance(gone, Rejected)
    assert "550 5.1.1 unknown" in gone.detail
    assert isinstance(full, TryAgain)
    assert "452 4.2.2 full" in full.reason
    assert smtp_server.recipients == ["ada@estate.example", "dara@estate.example"]


@pytest.mark.parametrize(
    ("answer", "expected"), [("554 no", Rejected), ("451 later", TryAgain), ("421 busy", TryAgain)]
)
async def test_it_rejects_what_the_server_does_not_take(
    smtp_server: FakeSmtpServer, answer: str, expected: type[Exception]
) -> None:
    smtp_server.data_answer = answer

    outcomes = await server_at(smtp_server.url).send([mail(), mail("ada@estate.example")])

    assert [type(each) for each in outcomes][:1] == [expected]


async def test_it_handles_a_server_that_does_not_take_mail_from_us(smtp_server: FakeSmtpServer) -> None:
    smtp_server.sender_answer = "553 not from you"

    (outcome,) = await server_at(smtp_server.url).send([mail()])

    assert isinstance(outcome, TryAgain)
    assert "553 not from you" in outcome.reason


async def test_it_rejects_an_address_that_cannot_stand_in_a_header(smtp_server: FakeSmtpServer) -> None:
    bad, good = await server_at(smtp_server.url).send([mail("a@x.example\r\nBcc: eve@evil.example"), mail()])

    assert isinstance(bad, Rejected)
    assert good is None
    assert len(smtp_server.received) == 1


@pytest.mark.parametrize("field", ["subject", "name", "id"])
async def test_it_rejects_a_second_line_in_a_header(smtp_server: FakeSmtpServer, field: str) -> None:
    (outcome,) = await server_at(smtp_server.url).send([mail(**{field: "one\r\nBcc: eve@evil.example"})])

    assert isinstance(outcome, Rejected)
    assert smtp_server.received == []


async def test_it_handles_a_server_that_is_away() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        server = server_at(f"smtp://127.0.0.1:{closed.getsockname()[1]}")

        with pytest.raises(TryAgain, match="cannot be reached"):
            await server.send([mail()])


async def test_it_handles_a_wrong_password(certificate: ServerCertificate) -> None:
    async with open_smtp_server(FakeSmtpServer(), starttls=certificate.context, requires_password=True) as smtp_server:
        server = server_at(f"smtp://{USER}:wrong@localhost:{smtp_server.port}", trusts=certificate.authority_pem)

        with pytest.raises(TryAgain, match="535"):
            await server.send([mail()])


@pytest.mark.parametrize("url", ["smtp://{}127.0.0.1:{}", "smtp://{}127.0.0.1:{}?starttls=required"])
async def test_it_rejects_to_show_a_password_to_everybody(url: str) -> None:
    async with open_smtp_server(FakeSmtpServer(), requires_password=True) as smtp_server:
        with pytest.raises(TryAgain):
            await server_at(url.format(CREDENTIALS, smtp_server.port)).send([mail()])

        # The operator may allow it.
        openly = f"smtp://{CREDENTIALS}127.0.0.1:{smtp_server.port}?starttls=never"
        assert await server_at(openly).send([mail()]) == [None]


async def test_it_rejects_a_certificate_of_somebody_else(certificate: ServerCertificate) -> None:
    async with open_smtp_server(FakeSmtpServer(), starttls=certificate.context) as smtp_server:
        with pytest.raises(TryAgain, match=r"(?i)certificate"):
            await server_at(smtp_server.url).send([mail()])

    assert smtp_server.received == []


async def test_it_handles_a_connection_that_breaks_off(smtp_server: FakeSmtpServer) -> None:
    smtp_server.data_answer = "421 we close"

    outcomes: Sequence[object] = await server_at(smtp_server.url).send([mail() for _ in range(3)])

    assert [type(each) for each in outcomes] == [TryAgain] * 3


@pytest.mark.parametrize(
    ("url", "host", "port", "protection"),
    [
        ("smtp://mail.estate.example", "mail.estate.example", 25, Protection.OFFERED),
        ("smtp://mail.estate.example:587", "mail.estate.example", 587, Protection.OFFERED),
        ("smtp://mail.estate.example?starttls=required", "mail.estate.example", 25, Protection.STARTTLS),
        ("smtp://mail.estate.example/?starttls=never", "mail.estate.example", 25, Protection.NONE),
        ("smtps://[::1]", "::1", 465, Protection.TLS),
    ],
)
def test_it_works_for_every_form_of_address(url: str, host: str, port: int, protection: Protection) -> None:
    address = parse_smtp_url(url)

    assert (address.host, address.port, address.protection, address.user) == (host, port, protection, None)


def test_it_rejects_to_show_the_password() -> None:
    address = parse_smtp_url("smtps://ada:s%3Acret@mail.estate.example")

    assert (address.user, address.password) == ("ada", "s:cret")
    assert "s:cret" not in repr(address)
