# SPDX-License-Identifier: Apache-2.0
"""A receiver of traces by OTLP over HTTP, and one of webhooks: real servers on loopback."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class Span:
    """A span as it was received; `links` are the ids of spans."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    attributes: Mapping[str, object]
    links: tuple[str, ...]
    failed: bool
    service: str


@dataclass(slots=True)
class RecordingServer:
    """A collector that stores the bodies and headers of all calls."""

    port: int
    bodies: list[bytes] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def spans(self) -> list[Span]:
        """All spans so far."""
        return [span for body in list(self.bodies) for span in _spans(ExportTraceServiceRequest.FromString(body))]

    def trace(self, trace_id: str) -> list[Span]:
        """Those of one trace."""
        return [span for span in self.spans() if span.trace_id == trace_id]


@contextmanager
def run_recording_server(status: int = 200) -> Iterator[RecordingServer]:
    """One that answers every POST with this status, for as long as the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            recorded.headers.append({name.lower(): value for name, value in self.headers.items()})
            recorded.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    recorded = RecordingServer(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield recorded
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _spans(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for of_resource in request.resource_spans:
        named = {each.key: each.value.string_value for each in of_resource.resource.attributes}
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield Span(
                    name=span.name,
                    kind=span.kind,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    attributes={each.key: _value(each.value) for each in span.attributes},
                    links=tuple(link.span_id.hex() for link in span.links),
                    failed=span.status.code == 2,
                    service=named["service.name"],
                )


def _value(value: object) -> object:
    kind = value.WhichOneof("value")  # type: ignore[attr-defined]  # Its classes are made at run time.
    found = getattr(value, kind)
    return [_value(each) for each in found.values] if kind == "array_value" else found
