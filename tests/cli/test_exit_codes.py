# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from chamberlain.cli.errors import ExitCode
from tests.cli.shell import Shell
from tests.services import API, free_port


def test_it_works(ada: Shell) -> None:
    assert ada.run("request", "list").code == ExitCode.DONE


def test_who_is_not_signed_in_is_told_to(nobody: Shell) -> None:
    ended = nobody.run("mailbox", "list")

    assert (ended.code, ended.out) == (ExitCode.NOT_ALLOWED, "")
    assert ended.err == f"No user is signed in at {nobody.service.url}. Sign in: chamberlain login.\n"


def test_a_token_that_is_none_is_refused_by_the_service(nobody: Shell) -> None:
    ended = nobody.with_token("e30.e30.e30").run("mailbox", "list")

    assert ended.code == ExitCode.NOT_ALLOWED
    # Without --again it says that one is signed in already, as far as it knows.
    assert "Sign in again: chamberlain login --again.\ncode tokenInvalid, traceId" in ended.err


def test_a_permission_that_is_missing_is_named(ada: Shell) -> None:
    shell = ada.with_token(ada.service.token("ada@estate.example", f"{API}/collab/App.ReadWrite.All"))

    ended = shell.run("mailbox", "list")

    assert ended.code == ExitCode.NOT_ALLOWED
    assert "mail/App.ReadWrite.All" in ended.err


def test_a_service_that_is_away_cannot_be_reached(nobody: Shell) -> None:
    ended = nobody.with_token("e30.e30.e30").run("mailbox", "list", "--server", f"http://127.0.0.1:{free_port()}")

    assert ended.code == ExitCode.UNREACHABLE
    assert ended.err.startswith("No connection could be made to http://127.0.0.1:")


@pytest.mark.parametrize(
    ("status", "headers", "code", "said"),
    [
        (200, {}, ExitCode.UNREACHABLE, "is not one of the API"),
        (302, {"Location": "https://elsewhere.example/"}, ExitCode.UNREACHABLE, "it sends the call elsewhere"),
        (429, {"Retry-After": "3600"}, ExitCode.UNREACHABLE, "It is worth trying again after 3600 s."),
        (503, {"Retry-After": "3600"}, ExitCode.UNREACHABLE, "It is worth trying again after 3600 s."),
        (500, {}, ExitCode.UNREACHABLE, "it has no problem document"),
    ],
)
def test_what_stands_between_is_told_from_the_service(
    nobody: Shell, status: int, headers: dict[str, str], code: ExitCode, said: str
) -> None:
    with answering(status, headers, b"<html>proxy</html>") as address:
        ended = nobody.with_token("e30.e30.e30").run("mailbox", "list", "--server", address)

    assert ended.code == code
    assert said in ended.err


def test_a_setting_that_cannot_be_used_is_named(nobody: Shell) -> None:
    shell = Shell(nobody.service, nobody.config, {"CHAMBERLAIN_SERVER": "chamberlain.example.org"})

    ended = shell.run("mailbox", "list")

    assert ended.code == ExitCode.SETTINGS
    assert ended.err.startswith('CHAMBERLAIN_SERVER is "chamberlain.example.org": expected an address')


def test_the_environment_may_name_the_service(ada: Shell) -> None:
    elsewhere = Shell(ada.service, ada.config, {"CHAMBERLAIN_SERVER": f"http://localhost:{ada.service.port}/"})

    ended = elsewhere.run("whoami")

    assert ended.code == ExitCode.NOT_ALLOWED
    assert f"http://localhost:{ada.service.port}." in ended.err


def test_a_port_is_one_of_this_machine_whatever_the_environment_says(ada: Shell) -> None:
    variables = {"CHAMBERLAIN_SERVER": "https://a.example", "CHAMBERLAIN_BASE_URL": "https://b.example"}

    ended = Shell(ada.service, ada.config, variables).run("whoami", "--port", str(ada.service.port))

    assert ended.code == ExitCode.DONE
    assert ada.service.url in ended.out


def test_a_token_goes_to_no_other_address_that_the_environment_names(ada: Shell) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    variables = {"CHAMBERLAIN_BASE_URL": nowhere, "CHAMBERLAIN_INSIDERS_BASE_URL": nowhere}
    create = ("group", "create", "--template", "Project group", "--display-name", "Here")

    ended = Shell(ada.service, ada.config, variables).run(*create, "--server", ada.service.url)

    assert ended.code == ExitCode.DONE, ended.err


def test_it_calls_whom_somebody_was_signed_in_at_last(ada: Shell, tmp_path: Path) -> None:
    variables = {name: value for name, value in ada.variables.items() if name != "CHAMBERLAIN_PORT"}

    done = subprocess.run(
        [sys.executable, "-m", "chamberlain", "whoami"],
        env={**variables, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert ada.service.url in done.stdout


def test_a_command_line_that_is_not_understood(ada: Shell) -> None:
    assert ada.run("mailbox", "lsit").code == ExitCode.MISUSED
    assert ada.run("mailbox", "list", "--colour").code == ExitCode.MISUSED


@contextmanager
def answering(status: int, headers: dict[str, str], body: bytes) -> Iterator[str]:
    """Something that gives this answer to every call."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - As the standard library has it.
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(10)
