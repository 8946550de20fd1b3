# SPDX-License-Identifier: Apache-2.0
"""A worker is killed between creation and delivery: each webhook is delivered all the same, once by its id."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import httpx2
import pytest
from standardwebhooks.webhooks import Webhook

from tests.faults.load import Load
from tests.services import API, GROUP_TEMPLATE, TLS, Service, outside_database, wait_until

GROUPS = 40
TEMPLATE = f"/admin/collab/v1/templates/{GROUP_TEMPLATE}/"
ENVIRONMENT = {"CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "CHAMBERLAIN_WEBHOOK_ALLOW_HTTP": "true"}
WAITING = "SELECT count(*) FROM chamberlain.delivery WHERE state = 'pending'"
SUCCEEDED = "SELECT count(*) FROM chamberlain.delivery WHERE state = 'succeeded'"
# A killed worker's leases last for ten seconds; a full machine takes its time for the rest.
DONE_WITHIN = 60.0


@dataclass
class Receiver:
    """Stores its calls. It answers none before `opened`."""

    url: str = ""
    opened: Event = field(default_factory=Event)
    begun: list[str] = field(default_factory=list)
    taken: dict[str, tuple[bytes, dict[str, str]]] = field(default_factory=dict)


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.begun.append(headers["webhook-id"])
            if not receiver.opened.wait(timeout=DONE_WITHIN):
                return
            receiver.taken[headers["webhook-id"]] = body, headers
            # A caller that is gone gets no answer; that is no fault of this one.
            try:
                self.send_response(204)
                self.end_headers()
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.opened.set()
        server.shutdown()
        server.server_close()
        thread.join()


def set_webhook(service: Service, url: str) -> str:
    """Give the template a webhook, as an administrator does; the secret that was made for it."""
    headers = service.headers(scope=f"{API}/admin/Config.ReadWrite.All")
    found = httpx2.get(f"{service.url}{TEMPLATE}", headers=headers, verify=TLS).json()
    changed = httpx2.put(
        f"{service.url}{TEMPLATE}", json={**found, "webhook": {"url": url}}, headers=headers, verify=TLS
    )
    assert changed.status_code == 200, changed.text
    return str(changed.json()["webhook"]["secret"])


@pytest.mark.heavy
@pytest.mark.timeout(200)
def test_it_works() -> None:
    with outside_database() as outside, receiving() as receiver:
        outside.environment = {**outside.environment, **ENVIRONMENT}
        service = outside.ready_service("--no-worker")
        secret = set_webhook(service, receiver.url)
        load = Load([service])
        load.run(GROUPS)

        first = outside.start_worker()
        wait_until(lambda: receiver.begun, DONE_WITHIN, first.said)
        wait_until(lambda: outside.value(WAITING) == GROUPS, DONE_WITHIN, first.said)
        first.kill()
        assert outside.value(SUCCEEDED) == 0
        receiver.opened.set()
        second = outside.start_worker()
        wait_until(lambda: outside.value(SUCCEEDED) == GROUPS, DONE_WITHIN, second.said)

    payloads = [Webhook(secret).verify(body, headers) for body, headers in receiver.taken.values()]
    assert len(load.accepted) == GROUPS
    assert sorted(each["requestId"] for each in payloads) == sorted(load.accepted)
    # It was called more often than there are events, and has each event once.
    assert len(receiver.begun) > len(set(receiver.begun)) == GROUPS
