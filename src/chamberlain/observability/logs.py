# SPDX-License-Identifier: Apache-2.0
"""Structured logs: one JSON object per line.

A terminal gets plain lines, or a file has them. Every line has time, level and event, and `traceId`, `requestId` and
`clientAddress` if they are known. Secrets are masked. Calls have metrics instead of lines.
"""

import logging
import logging.handlers
import os
import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from chamberlain.core.ids import TraceId

_trace_id: ContextVar[str | None] = ContextVar("trace_id", default=None)
_request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
_client_address: ContextVar[str | None] = ContextVar("client_address", default=None)


def new_trace_id() -> TraceId:
    """Make a W3C trace id: 16 random bytes in hexadecimal digits."""
    return TraceId(os.urandom(16).hex())


def configure_logs(stream: TextIO | None = None) -> None:
    """Send log lines and warnings to a stream, standard error by default."""
    stream = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter(_plain_lines if stream.isatty() else _json_lines))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    # The service logs its starts and stops; libraries log warnings only.
    logging.getLogger("chamberlain").setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def log_to_file(path: Path) -> None:
    """Send log lines and warnings to a file instead, as JSON.

    At 10 MB the file becomes `<name>.1`, and a new one begins.
    """
    handler = _PrivateFiles(path, maxBytes=10_000_000, backupCount=1, encoding="utf-8")
    handler.setFormatter(_formatter(_json_lines))
    logging.getLogger().handlers = [handler]


class _PrivateFiles(logging.handlers.RotatingFileHandler):
    """Opens each file for its owner only.

    The standard handler follows the umask.
    """

    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(open(self.baseFilename, "ab", opener=_open_private), encoding=self.encoding)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of a module.

    Call it with a sentence and named values.
    """
    return structlog.stdlib.get_logger(name)


def about(
    *, trace_id: str | None = None, request_id: str | None = None, client_address: str | None = None
) -> AbstractContextManager[None]:
    """Add ids to all lines within the block; None keeps known ones."""
    return _About(trace_id, request_id, client_address)


class _About(AbstractContextManager[None]):
    """Fast context manager: a generator takes three times as long."""

    __slots__ = ("_ids", "_tokens")

    def __init__(self, trace_id: str | None, request_id: str | None, client_address: str | None) -> None:
        self._ids = ((_trace_id, trace_id), (_request_id, request_id), (_client_address, client_address))
        self._tokens: list[Token[str | None]] = []

    def __enter__(self) -> None:
        self._tokens = [variable.set(known) for variable, known in self._ids if known is not None]

    def __exit__(self, *_error: object) -> None:
        for token in reversed(self._tokens):
            token.var.reset(token)


def _formatter(render: Processor) -> structlog.stdlib.ProcessorFormatter:
    return structlog.stdlib.ProcessorFormatter(
        # The `extra` of the standard library has the named values of a line.
        foreign_pre_chain=[structlog.stdlib.ExtraAdder()],
        processors=[
            _put_in_order,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            # After the traceback, whose text may contain a password as well.
            _mask,
            render,
        ],
    )


def _put_in_order(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    record: logging.LogRecord = event["_record"]
    head: dict[str, object] = {
        # The standard library reads the clock.
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "event": event.pop("event"),
        "logger": record.name,
    }
    if trace_id := _trace_id.get():
        head["traceId"] = trace_id
    if request_id := _request_id.get():
        head["requestId"] = request_id
    if client_address := _client_address.get():
        head["clientAddress"] = client_address
    return {**head, **event}


_SECRET_NAME = re.compile(r"token|secret|authorization|password|passphrase|cookie|assertion|privatekey", re.IGNORECASE)
_SECRET_TEXT = re.compile(
    r"(?<=://)(?P<user>[^\s:/?#@]*):[^\s/]*@"  # The password of an address.
    r"|(?P<scheme>\b(?:Bearer|Basic)\s+)[\w.~+/=-]+"  # An Authorization header (RFC 9110, 11.4).
    r"|\beyJ[\w-]+\.[\w-]+\.[\w-]*"  # A signed token (RFC 7515): its first part is `{"` in base64.
    r"|\bwhsec_[\w+/=-]+",  # The secret of a webhook.
    re.IGNORECASE,
)
_MASK = "***"


def _mask(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {name: _masked(name, value) for name, value in event.items()}


def _masked(name: str, value: object) -> object:
    if _SECRET_NAME.search(name.replace("_", "").replace("-", "")):
        return _MASK
    if isinstance(value, str):
        return _SECRET_TEXT.sub(_mask_text, value)
    if isinstance(value, Mapping):
        return {str(key): _masked(str(key), each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked("", each) for each in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    # The text would be written, so the text is masked.
    return _SECRET_TEXT.sub(_mask_text, str(value))


def _mask_text(found: re.Match[str]) -> str:
    if found["user"] is not None:
        return f"{found['user']}:{_MASK}@"
    return f"{found['scheme'] or ''}{_MASK}"


def _json_lines(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    return msgspec.json.encode(event).decode()


_console = structlog.dev.ConsoleRenderer(
    timestamp_key="time", exception_formatter=structlog.dev.plain_traceback, sort_keys=False
)


def _plain_lines(logger: WrappedLogger, method: str, event: EventDict) -> str:
    return _console(logger, method, event)
