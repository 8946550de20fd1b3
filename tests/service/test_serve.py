# SPDX-License-Identifier: Apache-2.0
"""`chamberlain serve` as an operator meets it: the start, the stop, and what keeps it from starting."""

import json
import socket
import ssl
import time

import httpx2
import pytest

from tests.folders import data_folder
from tests.services import (
    GROUP_TEMPLATE,
    TLS,
    Service,
    free_port,
    restarted_service,
    run_command,
    running_service,
    start_service,
    wait_until,
)


@pytest.mark.heavy
def test_it_works_again_after_a_power_cut_with_everything_that_was_acknowledged() -> None:
    with data_folder() as folder:
        service = start_service(folder)
        service.wait_until_ready(within=20)
        request_id = service.post_group({"displayName": "Kept", "templateId": GROUP_TEMPLATE}).json()["requestId"]
        service.wait_for_group(request_id)
        last = service.post_group({"displayName": "Last words", "templateId": GROUP_TEMPLATE}).json()["requestId"]
        service.kill()

        again = start_service(folder)
        try:
            again.wait_until_ready(within=20)

            assert again.find_group(request_id)[0]["displayName"] == "Kept"
            # It may have been leased by the process that is gone; then it is taken up again after ten seconds.
            assert again.wait_for_group(last, within=15)["displayName"] == "Last words"
            assert "The sample data is loaded." not in again.said()
        finally:
            assert again.stop() == 0


@pytest.mark.heavy
def test_it_does_not_wait_for_callers_who_only_hold_connections() -> None:
    with restarted_service() as service, socket.create_connection(("127.0.0.1", service.port)) as idle:
        trusted = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
        with (
            socket.create_connection(("127.0.0.1", service.port + 1)) as plain,
            trusted.wrap_socket(plain, server_hostname="localhost") as sleepy,
        ):
            sleepy.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % (service.port + 1))
            assert sleepy.recv(4096).startswith(b"HTTP/1.1 200")
            idle.sendall(b"POST /collab/v1/groups/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % service.port)
            begin = time.monotonic()

            code = service.stop()

        assert code == 0
        assert time.monotonic() - begin < 5
        assert "The service has stopped." in service.said()


def test_it_answers_what_is_under_way_when_it_is_told_to_stop() -> None:
    with restarted_service() as service:
        # The tenant of the token is known by then: asking the issuer takes a listener of the service's own.
        assert service.post_group({"displayName": "Before", "templateId": GROUP_TEMPLATE}).status_code == 202
        body = b'{"displayName": "Slow", "templateId": "%s"}' % GROUP_TEMPLATE.encode()
        head = (
            f"POST /collab/v1/groups/ HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n"
            f"Authorization: {service.headers()['authorization']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", service.port)) as caller:
            caller.sendall(head.encode() + body[:10])
            caller.settimeout(10)
            # The head has been read when a call that came later has its answer.
            assert service.answers("/health/live") == 200
            service.process.terminate()
            wait_until(lambda: service.answers("/health/live") == 0, within=5)

            caller.sendall(body[10:])

            assert caller.recv(65536).startswith(b"HTTP/1.1 202")
        assert service.stop() == 0


def test_it_rejects_a_port_that_is_taken() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)), data_folder() as folder:
        done = run_command("serve", "--port", str(port), "--data-dir", str(folder))

        assert done.returncode == 1
        assert f"127.0.0.1 port {port}" in done.stderr
        assert "--port" in done.stderr
        assert "Traceback" not in done.stderr
        assert list(folder.iterdir()) == []


@pytest.mark.heavy
def test_it_rejects_a_data_folder_that_another_service_uses(service: Service) -> None:
    done = run_command("serve", "--port", str(free_port()), "--data-dir", str(service.data_dir))

    assert done.returncode == 1
    assert str(service.data_dir) in done.stderr
    assert "Traceback" not in done.stderr
    # The first one is not disturbed: its files are still its own.
    assert service.answers("/health/ready") == 200
    assert service.run(
        "token", "--user", "eli@estate.example", "--scope", "https://graph.estate.example/Group.Read.All"
    )


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("CHAMBERLAIN_PROT", "8365", "did you mean CHAMBERLAIN_PORT?"),
        ("CHAMBERLAIN_PORT", "http", 'CHAMBERLAIN_PORT is "http": expected a whole number from 1 to 65534'),
        ("CHAMBERLAIN_DATABASE_URL", "postgresql://a@/b", "CHAMBERLAIN_DATABASE_WORKER_URL is missing"),
    ],
)
def test_it_rejects_settings_that_it_cannot_use(name: str, value: str, sentence: str) -> None:
    with data_folder() as folder:
        done = run_command("serve", "--data-dir", str(folder), environment={name: value})

    assert done.returncode == 78
    assert sentence in done.stderr


@pytest.mark.heavy
def test_it_rejects_an_address_that_others_can_reach() -> None:
    with data_folder() as folder:
        where = ("--host", "0.0.0.0", "--port", str(free_port()), "--data-dir", str(folder))  # noqa: S104 - it must not listen there, and does not.
        done = run_command("serve", *where)

    assert done.returncode == 1
    assert "CHAMBERLAIN_ALLOW_EMBEDDED_IDENTITY=true" in done.stderr


@pytest.mark.heavy
def test_it_works_on_such_an_address_without_the_embedded_identity_platform() -> None:
    with data_folder() as folder:
        before = start_service(folder)
        before.wait_until_ready()
        headers = before.headers()
        before.stop()

        # Another spelling of a name that leads nowhere else: it is not known to be loopback.
        alone = {"CHAMBERLAIN_EMBEDDED_IDENTITY": "false"}
        service = start_service(folder, port=before.port, options=("--host", "LOCALHOST"), environment=alone)
        try:
            service.wait_until_ready()
            known = httpx2.post(service.groups_url, json={}, headers=headers, verify=TLS)
            flows = httpx2.get(f"{service.url}/openapi.json", verify=TLS).json()["components"]["securitySchemes"]
            with socket.socket() as behind:
                nobody_listens = behind.connect_ex(("127.0.0.1", service.port + 1)) != 0

            assert (known.status_code, known.json()["code"]) == (401, "tokenInvalid")
            assert service.answers("/identity/local/token") == 404
            assert nobody_listens
            assert "clientCredentials" not in json.dumps(flows)
            assert "embedded identity platform" not in service.said().rpartition("The API answers")[2]
        finally:
            assert service.stop() == 0


@pytest.mark.heavy
def test_it_logs_json_lines_with_the_trace_of_a_call() -> None:
    with running_service() as service:
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
        answer = service.post_group({"displayName": "Traced", "templateId": GROUP_TEMPLATE}, **headers)
        assert answer.headers["request-id"] == trace
        service.wait_for_group(answer.json()["requestId"])
        assert service.stop() == 0

        logged = [json.loads(line) for line in service.said().splitlines() if line.startswith("{")]
        announced = [line for line in service.said().splitlines() if not line.startswith("{")]
        token = service.headers()["authorization"].removeprefix("Bearer ")
        secret = (service.data_dir / "automation.secret").read_text().strip()
        assert all({"time", "level", "event", "logger"} <= line.keys() for line in logged)
        assert {line["level"] for line in logged} == {"info"}
        assert len(announced) == 6, announced
        assert token not in service.said()
        assert secret not in service.said()
