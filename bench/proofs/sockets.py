# SPDX-License-Identifier: Apache-2.0
"""Thousands of slow, idle, half-open and unread sockets on both ports: others are answered, and memory stays bounded.

Options: `--sockets N`, `--kinds NAME,NAME`, `--seconds N`. `--tree FOLDER` first measures unread sockets with
an older checkout and with this one.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import os
import resource
import socket
import ssl
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.services import Service, restarted_service

SOCKETS = 5_000
# Sockets of the attack in the audit that found the fault.
AUDITED = 1_200
SECONDS = 40.0
KINDS = ("idle", "slow", "half-open", "unread")
# The promise: others are answered within this time, and the process has less memory than this.
ANSWERED_WITHIN = 1.0
MEMORY_MIB = 300
# A caller who has waited for so long gives up, and the probe counts as lost.
GIVES_UP_AFTER = 10.0
PIPELINED = 10
# Bytes that a client's own kernel keeps for it.
RECEIVE_BUFFER = 4096
# File descriptors of an attacking process itself.
SPARE = 500
# Attacking processes, and the sockets that each of them opens side by side.
ATTACKERS = 2
AT_ONCE = 100


@dataclass(slots=True)
class Figures:
    """The measurements of one run."""

    memory_mib: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    # Seconds until a caller was answered; a caller that gave up has None.
    answers: list[float | None] = field(default_factory=list)
    opened: int = 0
    left_open: int = 0
    log_lines: int = 0

    @property
    def slowest(self) -> float:
        """Seconds of the slowest answer; those that did not come count with the patience of their caller."""
        return max(GIVES_UP_AFTER if each is None else each for each in self.answers)

    @property
    def lost(self) -> int:
        """How many callers gave up."""
        return self.answers.count(None)

    @property
    def are_as_promised(self) -> bool:
        """Whether others were answered in time, with bounded memory."""
        return self.slowest < ANSWERED_WITHIN and max(self.memory_mib) < MEMORY_MIB


def main(arguments: Sequence[str]) -> int:
    """Run the proof; 0 when the figures are as promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sockets", type=int, default=SOCKETS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--tree", type=Path)
    options = parser.parse_args(arguments)
    if options.tree is not None:
        # The attack of the audit: sockets without a token that read nothing.
        for title, source in (("Before", options.tree.resolve() / "src"), ("After", None)):
            print(f"{title}:")
            environment = {} if source is None else {"PYTHONPATH": str(source)}
            _report(measure(AUDITED, options.seconds, ["unread"], environment), AUDITED, options.seconds, ["unread"])
    kinds = options.kinds.split(",")
    figures = measure(options.sockets, options.seconds, kinds, {})
    _report(figures, options.sockets, options.seconds, kinds)
    print("as promised" if figures.are_as_promised else "NOT as promised")
    return 0 if figures.are_as_promised else 1


def _report(figures: Figures, number: int, seconds: float, kinds: Sequence[str]) -> None:
    print(f"sockets             {number} ({', '.join(kinds)}), half of them on the port with TLS")
    print(f"opened              {figures.opened}; still open after {seconds:g} s: {figures.left_open}")
    print(f"memory (RSS)        {figures.memory_mib[0]:.0f} MiB before, {max(figures.memory_mib):.0f} MiB at most")
    print(f"file descriptors    {figures.files[0]} before, {max(figures.files)} at most")
    print(f"calls of others     {len(figures.answers)}, of which {figures.lost} gave up after {GIVES_UP_AFTER:g} s")
    print(f"slowest answer      {figures.slowest:.2f} s")
    print(f"lines in the log    {figures.log_lines}\n")


def measure(number: int, seconds: float, kinds: Sequence[str], environment: Mapping[str, str]) -> Figures:
    """Attack one process for so long, while others call it."""
    figures = Figures()
    with restarted_service(environment=environment) as service, _processes() as attacking:
        lines = len(service.said().splitlines())
        share = number // ATTACKERS
        attacks = [attacking.submit(attack, service.port, share, seconds, kinds) for _ in range(ATTACKERS)]
        asyncio.run(_measure(service, attacks, figures))
        figures.opened = sum(each.result()[0] for each in attacks)
        figures.left_open = sum(each.result()[1] for each in attacks)
        figures.log_lines = len(service.said().splitlines()) - lines
    return figures


def _processes() -> ProcessPoolExecutor:
    # New interpreters: they inherit neither the event loop nor the file descriptors of the proof.
    return ProcessPoolExecutor(max_workers=ATTACKERS, mp_context=multiprocessing.get_context("spawn"))


async def _measure(service: Service, attacks: Sequence[Future[tuple[int, int]]], figures: Figures) -> None:
    watching = asyncio.create_task(_watch(service, figures))
    calling = [asyncio.create_task(_call(service, with_tls, figures)) for with_tls in (False, True)]
    await asyncio.wait([asyncio.wrap_future(each) for each in attacks])
    for task in (watching, *calling):
        task.cancel()
    await asyncio.wait((watching, *calling))


def attack(port: int, number: int, seconds: float, kinds: Sequence[str]) -> tuple[int, int]:
    """Open so many sockets and read nothing from them. Answer how many were opened, and how many the service left."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, number + SPARE)), hard))
    return asyncio.run(_attack(port, number, seconds, kinds))


async def _attack(port: int, number: int, seconds: float, kinds: Sequence[str]) -> tuple[int, int]:
    # All sockets are open before the first of them sends anything, so no deadline ends one before the last is open.
    turns = asyncio.Semaphore(AT_ONCE)
    with ExitStack() as opened:

        async def connect(index: int) -> socket.socket | None:
            attacker = opened.enter_context(socket.socket())
            attacker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
            attacker.settimeout(0)
            async with turns:
                with suppress(OSError):
                    async with asyncio.timeout(GIVES_UP_AFTER):
                        address = ("127.0.0.1", port + _with_tls(index, kinds))
                        await asyncio.get_running_loop().sock_connect(attacker, address)
                        return attacker
            return None

        async def misbehave(index: int, attacker: socket.socket) -> None:
            # The service may have closed it: at the cap, the connections without progress for longest are closed.
            async with turns:
                with suppress(OSError):
                    async with asyncio.timeout(GIVES_UP_AFTER):
                        kind = kinds[index % len(kinds)]
                        await _misbehave(attacker, kind, port, with_tls=_with_tls(index, kinds))

        found = enumerate(await asyncio.gather(*map(connect, range(number))))
        attackers = {index: attacker for index, attacker in found if attacker is not None}
        await asyncio.gather(*itertools.starmap(misbehave, attackers.items()))
        await asyncio.sleep(seconds)
        return len(attackers), sum(not _has_ended(each) for each in attackers.values())


def _with_tls(index: int, kinds: Sequence[str]) -> bool:
    """Whether this socket goes to the port with TLS: every second one of each kind."""
    return index // len(kinds) % 2 == 1


async def _misbehave(attacker: socket.socket, kind: str, port: int, *, with_tls: bool) -> None:
    loop = asyncio.get_running_loop()
    call = f"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    if kind == "half-open":
        # The beginning of a TLS record or of a head, and then nothing.
        await loop.sock_sendall(attacker, b"\x16\x03\x01\x02\x00" if with_tls else call[:20])
    elif kind == "slow":
        message = call[:-2] if not with_tls else await _handshaken(attacker, call[:-2])
        await loop.sock_sendall(attacker, message)
    elif kind == "unread":
        calls = call * PIPELINED
        await loop.sock_sendall(attacker, await _handshaken(attacker, calls) if with_tls else calls)


async def _handshaken(attacker: socket.socket, message: bytes) -> bytes:
    """The message as TLS sends it, after the handshake."""
    loop = asyncio.get_running_loop()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    # An attacker does not care whom it attacks.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    tls = context.wrap_bio(incoming, outgoing)
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            await loop.sock_sendall(attacker, outgoing.read())
            received = await loop.sock_recv(attacker, 16_384)
            if not received:
                raise ConnectionResetError from None
            incoming.write(received)
    tls.write(message)
    return outgoing.read()


def _has_ended(attacker: socket.socket) -> bool:
    """Whether the service has closed the connection, as far as this kernel knows."""
    # TCP_INFO begins with the state; 1 is ESTABLISHED.
    return attacker.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 1


async def _call(service: Service, with_tls: bool, figures: Figures) -> None:  # noqa: FBT001
    """Call /health/live on a new connection, again and again."""
    context: ssl.SSLContext | None = None
    if with_tls:
        context = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
    port = service.port + with_tls
    call = f"GET /health/live HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n".encode()
    while True:
        begin = time.monotonic()
        answered: float | None = None
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(GIVES_UP_AFTER):
                reader, writer = await asyncio.open_connection("localhost", port, ssl=context, family=socket.AF_INET)
                writer.write(call)
                if (await reader.read(100)).startswith(b"HTTP/1.1 200"):
                    answered = time.monotonic() - begin
                writer.close()
        figures.answers.append(answered)
        await asyncio.sleep(0.1)


async def _watch(service: Service, figures: Figures) -> None:
    process = Path(f"/proc/{service.process.pid}")
    while True:
        pages = int((process / "statm").read_text().split()[1])
        figures.memory_mib.append(pages * os.sysconf("SC_PAGE_SIZE") / 1024**2)
        figures.files.append(len(list((process / "fd").iterdir())))
        await asyncio.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
