# SPDX-License-Identifier: Apache-2.0
"""Run commands as a user types them: in this process where possible, else in a new one."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from chamberlain.app.cli import app
from tests.services import COMMAND, Service, wait_until

# JSON documents, whose types are what is tested with them.
Json = Any


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command has ended, and what it has said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Json:
        """The one document that it has printed."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Json]:
        """The documents that it has printed, one in each line."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True, slots=True)
class Shell:
    """The shell of a user: a service, a folder for sign-ins, and variables."""

    service: Service
    config: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of the shell."""
        return {
            "CHAMBERLAIN_PORT": str(self.service.port),
            "CHAMBERLAIN_DATA_DIR": str(self.service.data_dir),
            "CHAMBERLAIN_CONFIG_DIR": str(self.config),
            # No browser is opened by a test; where it would go is printed as well.
            "BROWSER": "true",
            **self.environment,
        }

    def with_token(self, token: str) -> "Shell":
        """The same where a token is set."""
        return replace(self, environment={**self.environment, "CHAMBERLAIN_TOKEN": token})

    def run(self, *arguments: str, typed: str = "") -> Ended:
        """Run a command here, to its end."""
        done = CliRunner().invoke(app, arguments, input=typed, env=self.variables)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Ended(done.exit_code, done.stdout, done.stderr)

    def done(self, *arguments: str, typed: str = "") -> Ended:
        """As `run`, of what has to succeed."""
        ended = self.run(*arguments, typed=typed)
        assert ended.code == 0, ended.err
        return ended

    @contextmanager
    def started(self, *arguments: str) -> Iterator["Started"]:
        """Start a command in a process of its own."""
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **self.variables},
        )
        with process:
            try:
                yield Started(process)
            finally:
                process.kill()


@dataclass(slots=True)
class Started:
    """A command that runs."""

    process: subprocess.Popen[bytes]
    said: str = ""

    def wait_for(self, pattern: str, within: float = 60.0) -> re.Match[str]:
        """Wait for a pattern on standard error."""
        stream = self.process.stderr
        assert stream is not None
        os.set_blocking(stream.fileno(), False)

        def look() -> re.Match[str] | None:
            ended = self.process.poll() is not None
            self.said += (stream.read() or b"").decode()
            found = re.search(pattern, self.said)
            assert found or not ended, self.said
            return found

        found = wait_until(look, within, lambda: self.said)
        assert found is not None
        return found

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def end(self, within: float = 60.0) -> Ended:
        """Wait for its end."""
        if self.process.stderr is not None:
            os.set_blocking(self.process.stderr.fileno(), True)
        out, err = self.process.communicate(timeout=within)
        return Ended(self.process.returncode, (out or b"").decode(), self.said + err.decode())
