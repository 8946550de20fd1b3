"""Answers leave whole: the server writes head and body one after the other, which are two calls of the kernel and wake
the caller twice."""

import asyncio
from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

Data = bytes | bytearray | memoryview


class WholeAnswers(HttpToolsProtocol):
    """The server's own way to speak HTTP, over a transport that gathers what is written."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Somebody has connected."""
        super().connection_made(GatheringTransport(transport, self.loop))


class GatheringTransport(asyncio.Transport):
    """Sends what is written in one turn of the event loop at the end of that turn. All else goes through at once."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        # Nothing of the base class is needed; it says which methods there are.
        self._transport = transport
        self._loop = loop
        self._gathered: list[Data] = []

    def write(self, data: Data) -> None:
        """Keep it until the end of this turn."""
        if not self._gathered:
            self._loop.call_soon(self._send)
        self._gathered.append(data)

    def writelines(self, list_of_data: Iterable[Data]) -> None:
        """Keep them until the end of this turn."""
        for data in list_of_data:
            self.write(data)

    def _send(self) -> None:
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self._transport.write(b"".join(gathered))

    def close(self) -> None:
        """Send what was written, then end."""
        self._send()
        self._transport.close()

    def abort(self) -> None:
        """End at once; what was written is lost."""
        self._gathered.clear()
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        """How many bytes have not been sent."""
        return sum(map(len, self._gathered)) + self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()
