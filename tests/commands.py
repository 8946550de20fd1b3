# SPDX-License-Identifier: Apache-2.0
"""Commands without a process of their own, for tests of what a command does and says: to start one takes longer."""

import subprocess
from collections.abc import Mapping

from typer.testing import CliRunner

from chamberlain.app.cli import app


def run_here(
    *arguments: str, environment: Mapping[str, str] | None = None, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as `run_command` of tests/services.py does; `typed` is what it finds on standard
    input."""
    done = CliRunner().invoke(app, arguments, input=typed, env=environment)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)
