# SPDX-License-Identifier: Apache-2.0
"""Sending: what a receiver gets, and that none of them can make us wait, follow, swallow or call what is not public."""

import asyncio
import gc
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from standardwebhooks.webhooks import Webhook

from chamberlain.core.ids import EventId, TraceId
from chamberlain.embedded.identity.certificates import ServerCertificate, make_server_certificate
from chamberlain.webhooks.addresses import Address, Resolve, Resolver
from chamberlain.webhooks.models import Reply, WebhookCall
from chamberlain.webhooks.sender import MAX_IDLE, REFUSED, TIMED_OUT, UNREACHABLE, UNREADABLE, UNTRUSTED, Sender
from tests.resetting_server import resetting_server
from tests.webhooks.fake_webhook_receiver import CLOSE, HANG, FakeWebhookReceiver, answer, run_webhook_receiver

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
SECRETS = tuple(f"whsec_{b64encode(bytes([each] * 32)).decode()}" for each in (1, 2))
EVENT = EventId(UUID("e7e00000-0000-4000-8000-000000000001"))
PAYLOAD = b'{"type":"group.created"}'
SOON = timedelta(milliseconds=300)


@pytest.fixture
async def webhook_receiver() -> AsyncIterator[FakeWebhookReceiver]:
    async with run_webhook_receiver() as found:
        yield found


def call(url: str) -> WebhookCall:
    return WebhookCall(url, EVENT, PAYLOAD, SECRETS, TraceId("4bf92f3577b34da6a3ce929d0e0e4736"))


def names(*answers: Sequence[str]) -> Resolve:
    """A name server that gives one answer after the other, the last for ever."""
    left = list(answers)

    async def resolve(_host: str, _port: int) -> Sequence[Address]:
        found = left.pop(0) if len(left) > 1 else left[0]
        if not found:
            raise OSError("unknown")
        return [ip_address(each) for each in found]

    return resolve


@asynccontextmanager
async def sending(
    *,
    resolve: Resolve | None = None,
    allow_http: bool = True,
    trust: ssl.SSLContext | None = None,
    time_out: timedelta = timedelta(seconds=10),
    allowed: bool = True,
) -> AsyncIterator[Sender]:
    sender = Sender(
        resolve=resolve or Resolver(),
        allowed_networks=LOOPBACK if allowed else (),
        allow_http=allow_http,
        trust=trust or ssl.create_default_context(),
        now=lambda: datetime.now(UTC),
        timeout=time_out,
    )
    try:
        yield sender
    finally:
        await sender.close()


async def sent(url: str, **means: object) -> Reply:
    async with sending(**means) as sender:  # type: ignore[arg-type] # they are those of `sending`
        return await sender.send(call(url))


async def test_it_works(webhook_receiver: FakeWebhookReceiver) -> None:
    webhook_receiver.usual = answer(200, b"thanks")

    reply = await sent(f"{webhook_receiver.address}/hook/a b?x=1&y=%20&z=ü")

    assert (reply.status, reply.answer, reply.error, reply.succeeded) == (200, "thanks", None, True)
    assert timedelta() < reply.duration < timedelta(seconds=10)
    (got,) = webhook_receiver.received
    assert got.line == "POST /hook/a%20b?x=1&y=%20&z=%C3%BC HTTP/1.1"
    assert got.body == PAYLOAD
    assert got.headers["host"] == urlsplit(webhook_receiver.address).netloc
    assert got.headers["content-type"] == "application/json"
    assert got.headers["webhook-id"] == str(EVENT)
    assert got.headers["traceparent"] == "00-4bf92f3577b34da6a3ce929d0e0e4736-8000000000000001-01"
    for secret in SECRETS:
        Webhook(secret).verify(got.body, dict(got.headers))


async def test_it_keeps_a_connection(webhook_receiver: FakeWebhookReceiver) -> None:
    async with sending() as sender:
        for _ in range(3):
            assert (await sender.send(call(webhook_receiver.address))).status == 204

    assert (len(webhook_receiver.received), webhook_receiver.connections) == (3, 1)


async def test_it_keeps_few_connections_however_many_receivers_there_are(webhook_receiver: FakeWebhookReceiver) -> None:
    """A process may have 1,024 of these and of files as a rule, those to its database among them."""
    port = urlsplit(webhook_receiver.address).port
    hosts = [f"hooks{number}.estate.example" for number in range(20)]
    async with sending(resolve=names(["127.0.0.1"])) as sender:
        for host in hosts:
            await asyncio.gather(*[sender.send(call(f"http://{host}:{port}/")) for _ in range(20)])
        async with asyncio.timeout(10):
            while len(webhook_receiver.open) > MAX_IDLE:  # noqa: ASYNC110 (the receiver has no event)
                await asyncio.sleep(0.005)

        # Those of the newest are kept.
        before = webhook_receiver.connections
        assert (await sender.send(call(f"http://{hosts[-1]}:{port}/"))).status == 204
        assert webhook_receiver.connections == before > MAX_IDLE
        assert len(webhook_receiver.open) == MAX_IDLE


async def test_it_keeps_no_connection_that_comes_back_when_it_has_ended(webhook_receiver: FakeWebhookReceiver) -> None:
    sender = Sender(
        resolve=Resolver(),
        allowed_networks=LOOPBACK,
        allow_http=True,
        trust=ssl.create_default_context(),
        now=lambda: datetime.now(UTC),
    )
    sending_late = asyncio.create_task(sender.send(call(webhook_receiver.address)))
    await sender.close()
    assert (await sending_late).status == 204
    async with asyncio.timeout(10):
        while webhook_receiver.open:  # noqa: ASYNC110 (the receiver has no event)
            await asyncio.sleep(0.005)


@pytest.fixture
def certificate(tmp_path: Path) -> ServerCertificate:
    return make_server_certificate(tmp_path, datetime.now(UTC))


async def test_it_works_over_tls_with_the_name_and_not_the_address(certificate: ServerCertificate) -> None:
    seen: list[str | None] = []
    certificate.context.sni_callback = lambda _socket, name, _context: seen.append(name)
    trust = ssl.create_default_context(cadata=certificate.authority_pem)
    async with run_webhook_receiver(certificate.context) as webhook_receiver:
        reply = await sent(webhook_receiver.address, allow_http=False, trust=trust, resolve=names(["127.0.0.1"]))

        assert reply.status == 204
        assert seen == ["localhost"]
        assert webhook_receiver.received[0].headers["host"] == urlsplit(webhook_receiver.address).netloc


async def test_it_rejects_a_certificate_that_nobody_trusts(certificate: ServerCertificate) -> None:
    async with run_webhook_receiver(certificate.context) as webhook_receiver:
        reply = await sent(webhook_receiver.address)

        assert (reply.status, reply.error, webhook_receiver.received) == (None, UNTRUSTED, [])


async def test_it_rejects_a_certificate_of_another_name(certificate: ServerCertificate) -> None:
    trust = ssl.create_default_context(cadata=certificate.authority_pem)
    async with run_webhook_receiver(certificate.context) as webhook_receiver:
        url = webhook_receiver.address.replace("localhost", "hooks.estate.example")
        reply = await sent(url, trust=trust, resolve=names(["127.0.0.1"]))

        assert (reply.status, reply.error, webhook_receiver.received) == (None, UNTRUSTED, [])


async def test_it_does_not_wait_for_a_secure_connection_that_never_comes_about(
    webhook_receiver: FakeWebhookReceiver,
) -> None:
    reply = await sent(webhook_receiver.address.replace("http:", "https:"), time_out=SOON)

    assert (reply.status, reply.error) == (None, TIMED_OUT)
    gc.collect()


async def test_it_takes_a_new_connection_where_the_receiver_has_ended_the_one_before(
    webhook_receiver: FakeWebhookReceiver,
) -> None:
    webhook_receiver.usual = answer(204, Connection="close")
    async with sending() as sender:
        replies = [await sender.send(call(webhook_receiver.address)) for _ in range(2)]
        webhook_receiver.usual = answer(204)
        await sender.send(call(webhook_receiver.address))
        await webhook_receiver.hang_up()
        replies.append(await sender.send(call(webhook_receiver.address)))

    assert [each.status for each in replies] == [204] * 3
    assert webhook_receiver.connections == 4


async def test_it_handles_an_error(webhook_receiver: FakeWebhookReceiver) -> None:
    webhook_receiver.usual = answer(500, b"oops \x00\xff")

    reply = await sent(webhook_receiver.address)

    assert (reply.status, reply.answer, reply.succeeded) == (
        500,
        "oops \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}",
        False,
    )


async def test_it_does_not_follow_redirects(webhook_receiver: FakeWebhookReceiver) -> None:
    webhook_receiver.usual = answer(302, Location=f"{webhook_receiver.address}/elsewhere")

    reply = await sent(f"{webhook_receiver.address}/here")

    assert (reply.status, reply.succeeded) == (302, False)
    assert [each.line for each in webhook_receiver.received] == ["POST /here HTTP/1.1"]


async def test_it_does_not_wait_for_one_that_hangs(webhook_receiver: FakeWebhookReceiver) -> None:
    webhook_receiver.usual = HANG

    reply = await sent(webhook_receiver.address, time_out=SOON)

    assert (reply.status, reply.error) == (None, TIMED_OUT)
    assert SOON <= reply.duration < timedelta(seconds=5)


async def test_it_does_not_wait_for_an_answer_that_comes_drop_by_drop(webhook_receiver: FakeWebhookReceiver) -> None:
    webhook_receiver.usual = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"

    reply = await sent(webhook_receiver.address, time_out=SOON)

    assert (reply.status, reply.error) == (None, TIMED_OUT)


async def test_it_reads_the_beginning_of_50_megabytes_and_no_more(webhook_receiver: FakeWebhookReceiver) -> None:
    webhook_receiver.answers = [answer(200, b"x" * 50_000_000)]

    async with sending() as sender:
        reply = await sender.send(call(webhook_receiver.address))
        again = await sender.send(call(webhook_receiver.address))

    assert (reply.status, reply.answer) == (200, "x" * 1024)
    # The buffers of both kernels between the ends.
    assert webhook_receiver.sent < 20_000_000
    assert (again.status, webhook_receiver.connections) == (204, 2)


@pytest.mark.parametrize(
    "usual",
    [
        answer(204, b"thanks"),
        b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
async def test_a_body_where_there_must_be_none_is_not_taken_for_the_next_answer(
    webhook_receiver: FakeWebhookReceiver, usual: bytes
) -> None:
    webhook_receiver.usual = usual

    async with sending() as sender:
        replies = [await sender.send(call(webhook_receiver.address)) for _ in range(3)]

    assert [each.status for each in replies] == [204, 204, 204]


async def test_it_handles_headers_without_end(webhook_receiver: FakeWebhookReceiver) -> None:
    webhook_receiver.usual = b"HTTP/1.1 200 OK\r\n" + b"".join(
        b"X-%d: %s\r\n" % (each, b"x" * 1000) for each in range(5000)
    )

    assert (await sent(webhook_receiver.address)).error == UNREADABLE


async def test_it_handles_a_receiver_that_wants_no_more(webhook_receiver: FakeWebhookReceiver) -> None:
    webhook_receiver.usual = answer(410)

    assert (await sent(webhook_receiver.address)).is_gone


async def test_it_handles_one_that_hangs_up(webhook_receiver: FakeWebhookReceiver) -> None:
    webhook_receiver.usual = CLOSE

    assert (await sent(webhook_receiver.address)).error in {UNREACHABLE, UNREADABLE}


async def test_it_handles_one_that_is_not_there() -> None:
    async with run_webhook_receiver() as gone:
        pass

    assert (await sent(gone.address)).error == UNREACHABLE


async def test_a_reset_connection_is_a_failed_call() -> None:
    # A reset meets the moment after the connection in about one of 150 attempts.
    rounds, at_once = 150, 5
    replies: list[Reply] = []
    with resetting_server(rounds * at_once) as port:
        async with sending() as sender:
            for _ in range(rounds):
                calls = [sender.send(call(f"http://127.0.0.1:{port}/")) for _ in range(at_once)]
                replies += await asyncio.gather(*calls)

    assert {reply.error for reply in replies} <= {UNREACHABLE, UNREADABLE}


async def test_it_handles_one_that_does_not_speak_http(webhook_receiver: FakeWebhookReceiver) -> None:
    webhook_receiver.usual = b"220 mail.estate.example ESMTP\r\n\r\n"

    assert (await sent(webhook_receiver.address)).error == UNREADABLE


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("Wed, 21 Oct 2099 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("soon", "nothing"),
        ("-5", "nothing"),
        ("", "nothing"),
        ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", "nothing"),
        ("Wed, 21 Oct 2099 07:28:00 +99999999999999999999", "nothing"),
    ],
)
async def test_it_reads_when_to_come_again(
    webhook_receiver: FakeWebhookReceiver, value: str, seconds: float | str | None
) -> None:
    webhook_receiver.usual = answer(503, Retry_After=value)

    wait = (await sent(webhook_receiver.address)).retry_after

    if seconds == "nothing":
        assert wait is None
    elif seconds is None:
        assert wait is not None
        assert wait > timedelta(days=365)
    else:
        assert wait == timedelta(seconds=float(seconds))


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("http://127.0.0.1:{port}/", None),
        ("http://localhost:{port}/", None),
        ("http://[::1]:{port}/", None),
        ("http://[::ffff:127.0.0.1]:{port}/", None),
        ("http://2130706433:{port}/", ["8.8.8.8"]),
        ("http://0x7f.1:{port}/", ["8.8.8.8"]),
        ("http://0177.0.0.1:{port}/", ["8.8.8.8"]),
        ("http://unknown.estate.example:{port}/", []),
        ("http://hooks.estate.example:{port}/", ["127.0.0.1"]),
        # One address that may not be called is enough.
        ("http://hooks.estate.example:{port}/", ["8.8.8.8", "127.0.0.1"]),
        ("http://xn--\N{LATIN SMALL LETTER U WITH DIAERESIS}.example:{port}/", None),
        ("http://hooks.estate.example:99999/", None),
        ("http://hooks\0.estate.example:{port}/", None),
        (f"http://{'a' * 64}.estate.example:{{port}}/", None),
        ("http://hooks..estate.example:{port}/", None),
        ("ftp://hooks.estate.example/", None),
    ],
)
async def test_it_rejects_addresses_that_are_not_public_and_all_in_one_way(
    webhook_receiver: FakeWebhookReceiver, url: str, addresses: list[str] | None
) -> None:
    port = urlsplit(webhook_receiver.address).port
    resolve = None if addresses is None else names(addresses)

    reply = await sent(url.format(port=port), allowed=False, resolve=resolve)

    assert (reply.status, reply.answer, reply.error) == (None, None, REFUSED)
    assert webhook_receiver.connections == 0


async def test_it_rejects_http_unless_it_is_allowed(webhook_receiver: FakeWebhookReceiver) -> None:
    assert (await sent(webhook_receiver.address, allow_http=False)).error == REFUSED
    assert webhook_receiver.connections == 0


async def test_a_second_look_up_changes_nothing_for_the_connection_that_was_checked(
    webhook_receiver: FakeWebhookReceiver,
) -> None:
    port = urlsplit(webhook_receiver.address).port
    webhook_receiver.usual = answer(204, Connection="close")
    elsewhere = "169.254.169.254"
    async with sending(resolve=names(["127.0.0.1"], [elsewhere])) as sender:
        first = await sender.send(call(f"http://hooks.estate.example:{port}/"))
        second = await sender.send(call(f"http://hooks.estate.example:{port}/"))

    assert (first.status, second.error) == (204, REFUSED)
    assert len(webhook_receiver.received) == 1


async def test_it_tries_every_address_of_a_name(webhook_receiver: FakeWebhookReceiver) -> None:
    port = urlsplit(webhook_receiver.address).port

    reply = await sent(f"http://hooks.estate.example:{port}/", resolve=names(["127.0.0.2", "::1", "127.0.0.1"]))

    assert reply.status == 204


async def test_a_proxy_of_the_environment_counts_for_nothing(
    webhook_receiver: FakeWebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert (await sent(webhook_receiver.address)).status == 204


async def test_one_that_hangs_is_in_nobodys_way(webhook_receiver: FakeWebhookReceiver) -> None:
    async with run_webhook_receiver() as other, sending(time_out=timedelta(seconds=30)) as sender:
        other.usual = HANG
        hanging = [asyncio.create_task(sender.send(call(other.address))) for _ in range(50)]
        replies = await asyncio.gather(*[sender.send(call(webhook_receiver.address)) for _ in range(50)])

        assert {each.status for each in replies} == {204}
        assert not any(each.done() for each in hanging)
        for each in hanging:
            each.cancel()
        await asyncio.wait(hanging)


async def test_one_that_hangs_is_not_in_the_way_of_others_at_the_same_receiver(
    webhook_receiver: FakeWebhookReceiver,
) -> None:
    """Many may have their webhooks at one service, each at a path of their own."""
    webhook_receiver.answers = [HANG] * 100
    async with sending(time_out=timedelta(seconds=30)) as sender:
        hanging = [asyncio.create_task(sender.send(call(f"{webhook_receiver.address}/theirs"))) for _ in range(100)]
        async with asyncio.timeout(10):
            while len(webhook_receiver.received) < 100:  # noqa: ASYNC110 (the receiver has no event)
                await asyncio.sleep(0.005)
            reply = await sender.send(call(f"{webhook_receiver.address}/ours"))

        assert reply.status == 204
        for each in hanging:
            each.cancel()
        await asyncio.wait(hanging)


async def test_what_is_kept_of_a_call_does_not_show_its_secrets() -> None:
    assert SECRETS[0] not in repr(replace(call("https://hooks.estate.example/"), payload=b""))
