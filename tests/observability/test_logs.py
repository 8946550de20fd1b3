# SPDX-License-Identifier: Apache-2.0
"""The contents of the log, and the data that must not be in it."""

import io
import json
import logging
import logging.handlers
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from chamberlain.observability.logs import about, configure_logs, get_logger, log_to_file

REQUEST = "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("chamberlain")
    before = root.handlers, root.level, ours.level
    yield
    root.handlers, root.level, ours.level = before
    logging.captureWarnings(capture=False)


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    configure_logs(stream)
    return stream


def _lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_it_works(stream: io.StringIO) -> None:
    with about(trace_id=TRACE), about(request_id=REQUEST):
        get_logger("chamberlain.worker").warning("A job is held.", jobId=7, subject=UUID(REQUEST))

    (line,) = _lines(stream)
    assert str(line.pop("time")).endswith("Z")
    assert line == {
        "level": "warning",
        "event": "A job is held.",
        "logger": "chamberlain.worker",
        "traceId": TRACE,
        "requestId": REQUEST,
        "jobId": 7,
        "subject": REQUEST,
    }


def test_it_leaves_out_what_is_not_known(stream: io.StringIO) -> None:
    with about(trace_id=TRACE):
        pass
    get_logger("chamberlain").info("Ready.")

    assert list(_lines(stream)[0]) == ["time", "level", "event", "logger"]


def test_it_writes_the_lines_of_libraries_in_the_same_form(stream: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").warning("Invalid %s received.", "HTTP request")
    logging.getLogger("uvicorn.error").info("Started server process [1]")

    assert [(line["logger"], line["event"]) for line in _lines(stream)] == [
        ("uvicorn.error", "Invalid HTTP request received.")
    ]


def test_it_writes_warnings_in_the_same_form(stream: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn("This way is closed.", stacklevel=1)
        logging.captureWarnings(capture=False)

    (line,) = _lines(stream)
    assert line["level"] == "warning"
    assert "This way is closed." in str(line["event"])


def test_it_writes_a_traceback_on_one_line(stream: io.StringIO) -> None:
    try:
        raise ConnectionError("no way to postgresql://app:hidden@db/chamberlain")  # noqa: TRY301 - a real traceback
    except ConnectionError:
        get_logger("chamberlain.store").exception("The database is away.")

    (line,) = _lines(stream)
    assert "ConnectionError: no way to postgresql://app:***@db/chamberlain" in str(line["exception"])
    assert "hidden" not in stream.getvalue()


@pytest.mark.parametrize(
    "values",
    [
        {"access_token": "hidden"},
        {"headers": {"Authorization": "Basic hidden"}},
        {"clientSecret": "hidden"},
        {"PASSWORD": "hidden"},
        {"url": "postgresql://app:hidden@db/chamberlain"},
        {"url": "postgresql://app:hid@hidden@db/chamberlain"},
        {"sent": ["authorization: Bearer hidden"]},
        {"sent": ("eyJhidden.eyJhidden.hidden",)},
        {"webhook": "whsec_hidden"},
        {"error": ValueError("postgresql://:hidden@db")},
    ],
)
def test_it_masks_secrets(stream: io.StringIO, values: dict[str, object]) -> None:
    get_logger("chamberlain").warning("Something.", **values)

    assert "hidden" not in stream.getvalue()
    assert "***" in stream.getvalue()


def test_it_keeps_what_is_no_secret(stream: io.StringIO) -> None:
    get_logger("chamberlain").warning(
        "See https://localhost:8366/identity.", mail="ada@estate.example", count=3, ok=True
    )

    (line,) = _lines(stream)
    assert line["event"] == "See https://localhost:8366/identity."
    assert (line["mail"], line["count"], line["ok"]) == ("ada@estate.example", 3, True)


def test_it_masks_secrets_for_a_person_too() -> None:
    stream = _Terminal()
    configure_logs(stream)

    try:
        raise ValueError("Bearer hidden")  # noqa: TRY301 - a real traceback
    except ValueError:
        get_logger("chamberlain").exception("Nothing goes.", secret="hidden")

    assert "Nothing goes." in stream.getvalue()
    assert not stream.getvalue().startswith("{")
    assert "hidden" not in stream.getvalue()


def test_named_values_of_the_standard_library_are_in_the_line(stream: io.StringIO) -> None:
    logging.getLogger("chamberlain.worker").error("A job is held.", extra={"jobId": 7, "requestId": REQUEST})

    (line,) = _lines(stream)
    assert (line["jobId"], line["requestId"]) == (7, REQUEST)


@pytest.mark.usefixtures("stream")
def test_a_new_file_of_the_log_is_private_as_well(tmp_path: Path) -> None:
    log_to_file(tmp_path / "service.log")
    (handler,) = logging.getLogger().handlers
    assert isinstance(handler, logging.handlers.RotatingFileHandler)

    handler.doRollover()
    get_logger("chamberlain").warning("Hello.")
    handler.close()

    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {"service.log": 0o600, "service.log.1": 0o600}
    assert json.loads((tmp_path / "service.log").read_text())["event"] == "Hello."
