"""What is written in one turn of the event loop leaves together, and nothing is lost at the end."""

import asyncio
import socket

from chamberlain.bootstrap.whole_answers import GatheringTransport


class Recording(asyncio.Transport):
    """A transport that keeps what it is given, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.ended = ""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.ended
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def get_write_buffer_size(self) -> int:
        return 5


def gathering(transport: asyncio.Transport) -> GatheringTransport:
    return GatheringTransport(transport, asyncio.get_running_loop())


async def test_it_works_and_head_and_body_leave_together() -> None:
    recording = Recording()
    transport = gathering(recording)

    transport.write(b"head ")
    transport.writelines([b"body", b"!"])
    before = list(recording.sent)
    await asyncio.sleep(0)
    transport.write(b"next")
    await asyncio.sleep(0)

    assert before == []
    assert recording.sent == [b"head body!", b"next"]


async def test_it_counts_what_is_not_sent_yet() -> None:
    transport = gathering(Recording())

    transport.write(b"four")

    assert transport.get_write_buffer_size() == 9


async def test_a_polite_end_loses_nothing() -> None:
    recording = Recording()
    transport = gathering(recording)

    transport.write(b"farewell")
    transport.close()
    await asyncio.sleep(0)

    assert (recording.sent, recording.ended) == ([b"farewell"], "closed")


async def test_an_abrupt_end_sends_nothing_more() -> None:
    recording = Recording()
    transport = gathering(recording)

    transport.write(b"lost")
    transport.abort()
    await asyncio.sleep(0)

    assert (recording.sent, recording.ended) == ([], "aborted")


async def test_it_speaks_over_a_real_connection() -> None:
    here, there = socket.socketpair()
    there.settimeout(0)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(asyncio.Protocol, sock=here)
    whole = gathering(transport)

    whole.pause_reading()
    whole.resume_reading()
    whole.write(b"hello")
    whole.close()

    with there:
        assert await loop.sock_recv(there, 100) == b"hello"
    assert whole.is_closing()
    assert whole.get_protocol() is protocol
    assert whole.get_extra_info("socket") is not None
