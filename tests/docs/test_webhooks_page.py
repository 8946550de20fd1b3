"""The page about receiving webhooks works, with the receiver on it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from msgspec import json

from tests.docs.commands import PROGRAMS, Json
from tests.docs.pages import ROOT, shell_blocks
from tests.services import Service, free_port, restarted_service, wait_until

PAGE = ROOT / "docs" / "how-to" / "webhooks.md"
ALLOWED = {"CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "CHAMBERLAIN_WEBHOOK_ALLOW_HTTP": "true"}
# The variables of one block are kept for the next, as in a terminal.
KEPT = "declare -p ADMIN TEMPLATE ID ADA 2>/dev/null > kept || true"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with restarted_service(environment=ALLOWED) as running:
        yield running


@contextmanager
def receiver(folder: Path, port: int, secret: str) -> Iterator[Path]:
    """Start the receiver of the page, and yield the file of its output."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    script, printed = folder / "receiver.py", folder / "printed"
    script.write_text(code.replace("9000", str(port)), encoding="utf-8")
    with printed.open("ab") as stream:
        process = subprocess.Popen(
            [sys.executable, str(script)], stdout=stream, stderr=stream, env={**os.environ, "WEBHOOK_SECRET": secret}
        )
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


def run(service: Service, folder: Path, port: int, block: str) -> Json:
    """The output of a copied block."""
    block = block.replace("127.0.0.1:8365", f"127.0.0.1:{service.port}").replace("127.0.0.1:9000", f"127.0.0.1:{port}")
    script = f"set -eu\ntouch kept\n. ./kept\n{block.replace('.venv/bin/', f'{PROGRAMS}/')}\n{KEPT}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={
            **os.environ,
            "CHAMBERLAIN_PORT": str(service.port),
            "CHAMBERLAIN_DATA_DIR": str(service.data_dir),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.decode(done.stdout)


def test_it_works(service: Service, tmp_path: Path) -> None:
    start, give, _receive, try_, ask, list_, again, rotate = shell_blocks(PAGE)
    port = free_port()

    made = run(service, tmp_path, port, give)
    with receiver(tmp_path, port, made["webhook"]["secret"]) as printed:
        tested = run(service, tmp_path, port, try_)
        asked = run(service, tmp_path, port, ask)
        told = f"webhook.test None\ngroup.created {asked['requestId']}\n"
        wait_until(lambda: printed.read_text() == told, 20, printed.read_text)
        (delivery,) = succeeded(service, tmp_path, port, list_, attempts=1)
        redelivered = run(service, tmp_path, port, again)
        succeeded(service, tmp_path, port, list_, attempts=2)
        rotated = run(service, tmp_path, port, rotate)
        as_before = run(service, tmp_path, port, try_)
    with receiver(tmp_path, port, rotated["secret"]):
        with_the_new_one = run(service, tmp_path, port, try_)
        unsigned = answers(port)

    assert all(f"{name}={value}" in start for name, value in ALLOWED.items())
    assert (tested["status"], asked["group"]["displayName"]) == (204, "Hooked")
    assert delivery["attempts"][0]["status"] == 204
    assert redelivered == {"count": 1}
    assert made["webhook"]["secret"] != rotated["secret"]
    assert [as_before["status"], with_the_new_one["status"], unsigned] == [204, 204, 400]
    # The repeated call was ignored.
    assert printed.read_text().count("group.created") == 1


def test_the_receiver_refuses_whom_it_does_not_know(service: Service, tmp_path: Path) -> None:
    _, give, _, try_, *_ = shell_blocks(PAGE)
    port = free_port()

    run(service, tmp_path, port, give)
    with receiver(tmp_path, port, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=") as printed:
        tested = run(service, tmp_path, port, try_)

    assert (tested["status"], printed.read_text()) == (400, "")


def succeeded(service: Service, folder: Path, port: int, block: str, *, attempts: int) -> list[Json]:
    """The deliveries that a block lists, once each of them has so many attempts and succeeded."""

    def find() -> list[Json]:
        items: list[Json] = run(service, folder, port, block)["items"]
        well = [each["state"] == "succeeded" and len(each["attempts"]) == attempts for each in items]
        return items if well and all(well) else []

    return wait_until(find, 30)
