# SPDX-License-Identifier: Apache-2.0
"""Traces of a running service, as a real receiver gets them: one call, and everything that follows from it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from tests.docs.pages import ROOT, named, section
from tests.service.recording_server import RecordingServer, Span, run_recording_server
from tests.services import (
    ADA,
    ADA_MAIL,
    API,
    APPROVED_TEMPLATE,
    TLS,
    Service,
    free_port,
    restarted_service,
    run_command,
    wait_until,
)

pytestmark = pytest.mark.heavy

PAGE = ROOT / "docs" / "how-to" / "traces.md"
CONFIG = f"{API}/admin/Config.ReadWrite.All"
DARA_MAIL = "dara@estate.example"
TEMPLATES = "/admin/collab/v1/templates/"
SERVER, CLIENT = 2, 3
ALL_STAFF = "94000000-0000-4000-8000-000000000001"
NO_GUESTS = "7e000000-0000-4000-8000-000000000021"


@pytest.fixture(scope="module")
def collector() -> Iterator[RecordingServer]:
    with run_recording_server() as server:
        yield server


@pytest.fixture(scope="module")
def webhook_server() -> Iterator[RecordingServer]:
    with run_recording_server() as server:
        yield server


@pytest.fixture(scope="module")
def service(collector: RecordingServer) -> Iterator[Service]:
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
        "CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "CHAMBERLAIN_WEBHOOK_ALLOW_HTTP": "true",
    }
    with restarted_service(environment=environment) as running:
        yield running


def send(service: Service, path: str, body: object, trace: str, who: str = ADA_MAIL) -> httpx2.Response:
    """A POST within a trace of the caller's."""
    headers = service.headers(who)
    headers["traceparent"] = f"00-{trace}-{'ca11e7'.zfill(16)}-01"
    return httpx2.post(f"{service.url}{path}", json=body, headers=headers, timeout=30, verify=TLS)


def collected(collector: RecordingServer, trace: str, *names: str) -> dict[str, Span]:
    """The spans of a trace by their names, as soon as these are among them."""

    def find() -> dict[str, Span]:
        found = {span.name: span for span in collector.trace(trace)}
        return found if found.keys() >= set(names) else {}

    return wait_until(find, 20, lambda: f"Of {names}: {[span.name for span in collector.trace(trace)]}")


def test_it_works(service: Service, collector: RecordingServer, webhook_server: RecordingServer) -> None:
    # Given a template with a webhook for its objects
    hook = {"url": f"{webhook_server.url}/hidden-path?code=hidden-code"}
    template = httpx2.post(
        f"{service.url}{TEMPLATES}",
        json={"kind": "group", "name": "Told", "webhook": hook},
        headers=service.headers(ADA_MAIL, CONFIG),
        verify=TLS,
    ).json()
    trace = uuid4().hex

    # When a user requests a group within a trace of their own
    body = {"displayName": "Nameless Orchard", "description": "A hidden word", "templateId": template["id"]}
    asked = send(service, "/collab/v1/groups/", body, trace)
    service.wait_for_end(asked.json()["requestId"])
    wait_until(lambda: webhook_server.headers, 20)

    # Then everything that came of it is in that trace, each under what it follows from
    names = ("request", "job groupProvision", "directory ensure groups", "webhook call")
    found = collected(collector, trace, "POST /collab/v1/groups/", *names)
    call, request, job = found["POST /collab/v1/groups/"], found["request"], found["job groupProvision"]
    assert asked.headers["request-id"] == trace
    assert (call.kind, call.parent_id) == (SERVER, "ca11e7".zfill(16))
    assert call.attributes["http.route"] == "/collab/v1/groups/"
    assert call.attributes["http.response.status_code"] == 202
    assert request.parent_id == call.span_id
    assert request.attributes["chamberlain.request.id"] == asked.json()["requestId"]
    assert job.parent_id == request.span_id
    assert found["directory ensure groups"].parent_id == job.span_id
    assert found["directory ensure groups"].attributes["chamberlain.steps.done"] == ["createGroup"]
    # The first attempt does not observe the directory.
    assert "directory observe groups" not in found
    delivery = found["webhook call"]
    assert (delivery.kind, delivery.parent_id) == (CLIENT, request.span_id)
    assert delivery.attributes["server.address"] == "127.0.0.1"
    # The receiver can go on with it.
    assert [headers["traceparent"] for headers in webhook_server.headers] == [f"00-{trace}-{delivery.span_id}-01"]
    # The batch that it was written in leads to it.
    batches = [span for span in collector.spans() if span.name == "submission batch"]
    assert [span.trace_id == trace for span in batches if request.span_id in span.links] == [False]
    assert {span.service for span in collector.spans()} == {"chamberlain"}
    assert set(named(section(PAGE, "## Find one"))) <= {span.name for span in collector.spans()}
    # No name and nothing secret is sent.
    everything = b"".join(collector.bodies)
    for hidden in (b"Orchard", b"hidden", b"Achterberg", b"ada@", ADA.encode(), b"whsec_", b"Bearer", b"eyJ"):
        assert hidden not in everything, hidden


def test_a_call_without_a_trace_begins_one(service: Service, collector: RecordingServer) -> None:
    asked = service.post_group({"displayName": "Fresh", "templateId": "7e000000-0000-4000-8000-000000000011"})

    found = collected(collector, asked.headers["request-id"], "POST /collab/v1/groups/", "job groupProvision")

    assert found["POST /collab/v1/groups/"].parent_id == ""


def test_what_an_approval_lets_go_on_belongs_to_the_call_that_approved(
    service: Service, collector: RecordingServer
) -> None:
    first, second = uuid4().hex, uuid4().hex
    asked = send(service, "/collab/v1/groups/", {"displayName": "Later", "templateId": APPROVED_TEMPLATE}, first)
    request_id = asked.json()["requestId"]

    approve = f"/requests/v1/{request_id}/approve/"
    # Its level is open as soon as a job has looked who has to decide.
    wait_until(lambda: send(service, approve, {}, second, who=DARA_MAIL).status_code == 200, 20)
    service.wait_for_end(request_id)

    found = collected(collector, second, "POST /requests/v1/{requestId}/approve/", "request", "job groupProvision")
    assert found["job groupProvision"].parent_id == found["request"].span_id


def test_the_effects_of_an_assignment_belong_to_its_call(service: Service, collector: RecordingServer) -> None:
    trace = uuid4().hex
    headers = {**service.headers(ADA_MAIL, CONFIG), "traceparent": f"00-{trace}-{'ca11e7'.zfill(16)}-01"}

    answer = httpx2.patch(
        f"{service.url}/admin/collab/v1/manage/groups/{ALL_STAFF}/",
        json={"templateId": NO_GUESTS},
        headers=headers,
        verify=TLS,
    )

    assert answer.status_code == 200, answer.text
    found = collected(collector, trace, "request", "job assignmentApply", "directory ensure guest rules")
    assert found["directory ensure guest rules"].parent_id == found["job assignmentApply"].span_id
    assert found["job assignmentApply"].parent_id == found["request"].span_id


def test_a_call_that_is_refused_says_how(service: Service, collector: RecordingServer) -> None:
    trace = uuid4().hex

    answer = send(service, "/collab/v1/groups/", {"displayName": 7}, trace)

    found = collected(collector, trace, "POST /collab/v1/groups/")
    assert answer.status_code == 400
    assert found["POST /collab/v1/groups/"].attributes["http.response.status_code"] == 400
    assert found.keys() == {"POST /collab/v1/groups/"}


def test_a_call_of_a_mounted_application_is_named_by_its_route(service: Service, collector: RecordingServer) -> None:
    trace, name = uuid4().hex, "POST /identity/{tenant_id}/oauth2/v2.0/token"

    answer = send(service, "/identity/e57a7e00-0000-4000-8000-000000000001/oauth2/v2.0/token", {}, trace)

    span = collected(collector, trace, name)[name]
    assert span.attributes["http.route"] == "/identity/{tenant_id}/oauth2/v2.0/token"
    assert span.attributes["http.response.status_code"] == answer.status_code


def test_a_page_of_the_console_is_named_by_its_route(service: Service, collector: RecordingServer) -> None:
    trace, name = uuid4().hex, "GET /console/assets/{digest}/{name}"
    headers = {"traceparent": f"00-{trace}-{'ca11e7'.zfill(16)}-01"}

    httpx2.get(f"{service.url}/console/assets/0123456789abcdef/console.css", headers=headers, verify=TLS)

    assert collected(collector, trace, name)[name].attributes["http.route"] == "/console/assets/{digest}/{name}"


def test_nobody_hears_of_questions_about_health(service: Service, collector: RecordingServer) -> None:
    trace = uuid4().hex
    httpx2.get(f"{service.url}/health/live", headers={"traceparent": f"00-{trace}-{'1'.zfill(16)}-01"})
    send(service, "/collab/v1/groups/", {}, trace)

    collected(collector, trace, "POST /collab/v1/groups/")

    assert len(collector.trace(trace)) == 1


def test_it_handles_a_receiver_that_is_not_there() -> None:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}", "OTEL_BSP_SCHEDULE_DELAY": "100"}
    with restarted_service(environment=environment) as running:
        asked = running.post_group({"displayName": "Alone", "templateId": "7e000000-0000-4000-8000-000000000011"})
        running.wait_for_end(asked.json()["requestId"])

        assert running.stop() == 0


def test_it_rejects_another_protocol(tmp_path: Path) -> None:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}

    done = run_command("serve", "--data-dir", str(tmp_path / "data"), environment=environment)

    assert done.returncode == 1
    assert 'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"' in done.stderr


def test_without_a_receiver_nothing_of_it_is_imported() -> None:
    program = "import sys, chamberlain.app.serve; print([name for name in sys.modules if 'opentelemetry' in name])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
