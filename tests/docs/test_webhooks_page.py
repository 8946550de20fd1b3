# SPDX-License-Identifier: Apache-2.0
"""The page about receiving webhooks works, with the receiver on it."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.docs.commands import documents, printed_in
from tests.docs.homes import as_user, new_project, service_of_user
from tests.docs.pages import ROOT, fences, shell_blocks
from tests.docs.terminals import sign_in
from tests.services import Service, free_port, wait_until

PAGE = ROOT / "docs" / "how-to" / "webhooks.md"
ALLOWED = {"CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "CHAMBERLAIN_WEBHOOK_ALLOW_HTTP": "true"}
# The variables of one block are kept for the next, as in a terminal.
KEPT = "declare -p ADMIN TEMPLATE ID 2>/dev/null > kept || true"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with service_of_user(ALLOWED) as running:
        sign_in(running)
        yield running


@contextmanager
def receiver(folder: Path, port: int, secret: str) -> Iterator[Path]:
    """Start the receiver of the page, and yield the file of its output."""
    (code,) = [fence.text for fence in fences(PAGE) if fence.language == "python"]
    (folder / "receiver.py").write_text(code.replace("9000", str(port)), encoding="utf-8")
    # Its library is in the environment of the tests.
    start = shell_blocks(PAGE)[3].replace("receiver/bin/", ".venv/bin/").replace("whsec_...", secret)
    printed = folder / "printed"
    with printed.open("ab") as stream:
        process = subprocess.Popen([*as_user(), "bash", "-c", start], cwd=folder, stdout=stream, stderr=stream)
    try:
        wait_until(lambda: answers(port), 20, printed.read_text)
        yield printed
    finally:
        process.terminate()
        process.wait(timeout=20)


def answers(port: int, content: bytes = b"{}") -> int:
    """The receiver's answer to an unsigned call; 0 without a receiver."""
    try:
        headers = {"webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
        return httpx2.post(f"http://127.0.0.1:{port}/", content=content, headers=headers, timeout=10).status_code
    except httpx2.TransportError:
        return 0


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of the page, with a terminal in a folder and a port for the receiver."""

    service: Service
    folder: Path
    port: int

    def type(self, block: str) -> str:
        """The output of a copied block."""
        block = block.replace("127.0.0.1:9000", f"127.0.0.1:{self.port}")
        return printed_in(self.folder, self.service, f"touch kept\n. ./kept\n{block}\n{KEPT}")


@pytest.fixture
def reader(service: Service) -> Reader:
    return Reader(service, new_project(service), free_port())


def secret_in(text: str) -> str:
    (secret,) = re.findall(r"whsec_[\w+/=]+", text)
    return str(secret)


@pytest.mark.heavy
def test_it_works(reader: Reader) -> None:
    start, give, _install, _receive, try_, ask, list_, again, rotate, *_ = shell_blocks(PAGE)

    first = secret_in(reader.type(give))
    with receiver(reader.folder, reader.port, first) as printed:
        tested = reader.type(try_)
        asked = reader.type(ask)
        wait_until(lambda: "group.created" in printed.read_text(), 20, printed.read_text)
        wait_until(lambda: "succeeded" in reader.type(list_), 30)
        reader.type(again)
        second = secret_in(reader.type(rotate))
        reader.type(try_)
    with receiver(reader.folder, reader.port, second):
        reader.type(try_)
        unsigned = answers(reader.port)

    assert all(f"{name}={value}" in start for name, value in ALLOWED.items())
    assert "204" in tested
    assert "hooked@estate.example" in asked
    assert first != second
    assert unsigned == 400
    # The repeated call was ignored.
    assert re.findall(r"^\S+", printed.read_text(), re.MULTILINE).count("group.created") == 1


@pytest.mark.heavy
def test_it_works_over_http(reader: Reader) -> None:
    _, give, *_, give_by_http, try_, list_and_again, rotate = shell_blocks(PAGE)
    body_alone = give.rpartition("END\n")[0] + "END"

    reader.type(body_alone)
    secret = secret_in(reader.type(give_by_http))
    with receiver(reader.folder, reader.port, secret):
        (tested,) = documents(reader.type(try_))
        listed, sent_again = documents(reader.type(list_and_again))
    (rotated,) = documents(reader.type(rotate))

    assert tested["status"] == 204
    assert (listed["items"], sent_again) == ([], {"count": 0})
    assert rotated["secret"] != secret


@pytest.mark.heavy
def test_the_receiver_refuses_a_caller_with_another_secret(reader: Reader) -> None:
    _, give, *_, give_by_http, try_, _, _ = shell_blocks(PAGE)

    reader.type(f"{give.rpartition('END')[0]}END\n{give_by_http}")
    with receiver(reader.folder, reader.port, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=") as printed:
        (tested,) = documents(reader.type(try_))

    assert (tested["status"], printed.read_text()) == (400, "")
