# SPDX-License-Identifier: Apache-2.0
"""Count the source files that a call enters in the API process, with the worker in another process.

    python3 -m bench.house.entered [CHECKOUT]

The checkout has its own .venv. Each call is sent once before, so that caches are warm. A file counts when one of its
functions is called between the first byte of the call and its response.
"""

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests import services
from tests.services import (
    ADA_MAIL,
    API,
    COLLAB,
    GROUP_TEMPLATE,
    Service,
    free_port,
    outside_database,
    start_process,
    wait_until,
)

# Runs the service. The first signal starts the record, the second writes it and stops recording.
RECORDER = """
import json, signal, sys
entered, target = set(), sys.argv.pop(1)
def profile(frame, event, _):
    if event == "call" and "/chamberlain/" in frame.f_code.co_filename:
        entered.add(frame.f_code.co_filename.split("/src/")[-1])
def switch(*_):
    if sys.getprofile() is None:
        entered.clear()
        sys.setprofile(profile)
    else:
        sys.setprofile(None)
        with open(target + ".part", "w") as file:
            json.dump(sorted(entered), file)
        import os
        os.replace(target + ".part", target)
signal.signal(signal.SIGUSR1, switch)
from importlib.metadata import entry_points
(entry,) = entry_points(group="console_scripts", name="chamberlain")
entry.load()()
"""
MANAGED = "/admin/collab/v1/manage/spo/51730000-0000-4000-8000-000000000001/"
Call = Callable[[int], httpx2.Response]


def main() -> int:
    """Print the number of files of each call, and the files with `--list`."""
    parser = argparse.ArgumentParser(prog="python3 -m bench.house.entered", description=__doc__)
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--list", action="store_true", dest="shows_files")
    options = parser.parse_args()
    python = sys.executable if options.checkout is None else str(options.checkout.absolute() / ".venv/bin/python")
    services.COMMAND = (python, "-m", "chamberlain")
    with outside_database() as outside, tempfile.TemporaryDirectory() as folder:
        outside.start_worker()
        record = Path(folder, "entered.json")
        port, data_dir = free_port(), Path(folder, "data")
        data_dir.mkdir()
        # The recorder takes its first argument as the place of the record.
        services.COMMAND = (python, "-c", f"import sys; sys.argv.insert(1, {str(record)!r})\n{RECORDER}")
        where = ("serve", "--no-worker", "--port", str(port), "--data-dir", str(data_dir))
        process = start_process(*where, log=data_dir / "log", environment=outside.environment)
        outside.started.callback(process.kill)
        service = Service(process.process, process.log, port, data_dir, outside.environment)
        service.wait_until_ready()
        for name, call in calls(service).items():
            files = entered(service, record, call)
            print(f"{name:14} {len(files):3} files")
            if options.shows_files:
                print("\n".join(f"    {file}" for file in files))
    return 0


def calls(service: Service) -> dict[str, Call]:
    """Return the calls by name. The number makes the names of their objects unique."""
    config = service.headers(ADA_MAIL, f"{API}/admin/Config.ReadWrite.All")
    mail = service.headers(ADA_MAIL, f"{API}/mail/App.ReadWrite.All")
    collab = service.headers(ADA_MAIL, COLLAB)
    templates = ("7e000000-0000-4000-8000-000000000022", "00000000-0000-0000-0000-000000000000")

    def post_group(number: int) -> httpx2.Response:
        body = {"displayName": f"Entered {number}", "templateId": GROUP_TEMPLATE}
        return httpx2.post(service.groups_url, json=body, headers=collab)

    def post_mailbox(number: int) -> httpx2.Response:
        body = {"name": f"Entered {number}", "displayName": f"Entered {number}", "capacity": 8}
        body |= {"templateId": "7e000000-0000-4000-8000-000000000003"}
        return httpx2.post(f"{service.url}/mail/v1/mailboxes/", json=body, headers=mail)

    def patch_site(number: int) -> httpx2.Response:
        return httpx2.patch(f"{service.url}{MANAGED}", json={"templateId": templates[number % 2]}, headers=config)

    return {"POST group": post_group, "POST mailbox": post_mailbox, "PATCH spo": patch_site}


def entered(service: Service, record: Path, call: Call) -> list[str]:
    """Send a call twice, and return the files that the second one enters."""
    wait_until(lambda: call(0).is_success, within=60)
    record.unlink(missing_ok=True)
    with recording(service):
        answer = call(1)
    assert answer.is_success, answer.text
    wait_until(record.exists, within=10)
    found: list[str] = json.loads(record.read_text())
    return found


@contextmanager
def recording(service: Service) -> Iterator[None]:
    """Record while the block runs."""
    service.process.send_signal(signal.SIGUSR1)
    yield
    service.process.send_signal(signal.SIGUSR1)


if __name__ == "__main__":
    sys.exit(main())
