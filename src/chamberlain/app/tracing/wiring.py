"""Enable traces when OpenTelemetry's own variables name a receiver.

Without one nothing is wrapped, and the OpenTelemetry packages are not imported.
"""

import asyncio
import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chamberlain.app.tracing.traces import Traces
from chamberlain.core.errors import CannotStart
from chamberlain.settings import read_traces

# The service has ten seconds to stop, and sending the last spans is its last step.
_SECONDS_TO_SEND = 1.5


class TracesUnusable(CannotStart):
    """Traces are configured but cannot be sent. The message has the cure."""


@asynccontextmanager
async def opened_traces() -> AsyncIterator[Traces]:
    """Open traces for the duration of the block. Raises TracesUnusable.

    The last spans are sent at its end.
    """
    wanted = read_traces()
    if not wanted.are_sent:
        yield Traces()
        return
    if wanted.protocol not in {"", "http/protobuf"}:
        raise TracesUnusable(
            f'OTEL_EXPORTER_OTLP_PROTOCOL is "{wanted.protocol}". Set it to http/protobuf, the only supported '
            "protocol; receivers use port 4318 for it."
        )
    if not all(map(importlib.util.find_spec, ("opentelemetry", "opentelemetry.exporter", "opentelemetry.sdk"))):
        raise TracesUnusable(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the OpenTelemetry packages are not installed. Run "
            "`python3 dev.py setup --traces`, or remove the variable."
        )
    from chamberlain.app.tracing.provider import SentTraces

    traces = SentTraces()
    try:
        yield traces
    finally:
        await asyncio.to_thread(traces.close, _SECONDS_TO_SEND)
