# SPDX-License-Identifier: Apache-2.0
"""Without a receiver of traces everything is as it is; with one, its ids follow from those of trace and request."""

from collections.abc import Mapping
from uuid import UUID

import pytest
from starlette.types import Receive, Scope, Send

from chamberlain.app.serve import opened_traces
from chamberlain.app.tracing.spans import request_span_id
from chamberlain.app.tracing.traces import Traces
from chamberlain.queue.models import JobKind
from chamberlain.queue.worker import Handler
from chamberlain.settings import TracesWanted, read_traces

HANDLERS: Mapping[JobKind, Handler] = {}
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


async def application(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Answers nothing."""


async def test_it_works_without_a_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)

    async with opened_traces() as traces:
        assert type(traces) is Traces
        # The very same: a call pays for nothing.
        assert traces.application(application) is application
        assert traces.handlers(HANDLERS) is HANDLERS


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, TracesWanted(are_sent=False, protocol="")),
        (ENDPOINT, TracesWanted(are_sent=True, protocol="")),
        (
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"},
            TracesWanted(are_sent=True, protocol=""),
        ),
        (
            {**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
            TracesWanted(are_sent=True, protocol="http/protobuf"),
        ),
        ({**ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, TracesWanted(are_sent=True, protocol="grpc")),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, TracesWanted(are_sent=False, protocol="")),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, TracesWanted(are_sent=False, protocol="")),
    ],
)
def test_it_handles_the_variables_of_opentelemetry(
    environment: Mapping[str, str], wanted: TracesWanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert read_traces() == wanted


def test_the_span_of_a_request_is_known_to_every_process() -> None:
    one, other = UUID(int=1), UUID(int=2)

    assert request_span_id(TRACE, one) == request_span_id(TRACE, UUID(str(one)))
    assert len({request_span_id(TRACE, one), request_span_id(TRACE, other), request_span_id("0" * 31 + "1", one)}) == 3
    assert 0 < request_span_id(TRACE, one) < 1 << 64
