# SPDX-License-Identifier: Apache-2.0
"""Run the service with the example estate on an open suite; `python3 dev.py run --suite` does it.

The service is a child process with the arguments of `chamberlain serve`. Once it answers, its example tenant is
connected to the suite.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from deploy.suite.connection import connect, environment_of
from deploy.suite.folder import opened
from deploy.suite.people import password_of

ADMINISTER = "https://api.estate.example/admin/Config.ReadWrite.All"
COMMAND = (str(Path(sys.executable).with_name("chamberlain")),)
# A first start creates the database.
READY_WITHIN = 120.0


def main() -> int:
    """Run the service until it ends. Returns its exit code."""
    suite = opened()
    environment = {**os.environ, **environment_of(suite)}
    service = subprocess.Popen([*COMMAND, "serve", *sys.argv[1:]], env=environment)
    # The terminal sends Ctrl-C to both. The service ends in its own time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: service.terminate())
    try:
        if (token := _token(service)) is not None:
            found = connect(suite, _option("--public-url") or f"http://127.0.0.1:{_option('--port') or '8365'}", token)
            print(_welcome(found, suite.url("SOGO"), suite.url("MATRIX")), flush=True)
        return service.wait()
    finally:
        if service.poll() is None:
            service.terminate()
            service.wait()


def _token(service: subprocess.Popen[bytes]) -> str | None:
    """Return a token of Ada as soon as the service answers. None if it ends before."""
    where = [word for name in ("--port", "--data-dir") if (value := _option(name)) for word in (name, value)]
    command = [*COMMAND, "token", "--user", "ada@estate.example", "--scope", ADMINISTER, *where]
    until = time.monotonic() + READY_WITHIN
    while service.poll() is None and time.monotonic() < until:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
        time.sleep(0.5)
    return None


def _option(name: str) -> str | None:
    """Return an option of the command line."""
    for at, word in enumerate(sys.argv):
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
        if word == name:
            return sys.argv[at + 1]
    return None


def _welcome(connection: dict[str, object], calendar: str, matrix: str) -> str:
    if connection["state"] != "ready":
        return f"The connection to the suite is {connection['state']}: {json.dumps(connection['stateReason'])}"
    return (
        "The example estate uses the open suite.\n"
        f"  Web mail and calendar  {calendar}/SOGo, as ben with the password {password_of('ben')}\n"
        f"  Matrix homeserver      {matrix}, for any Matrix client, with the same names and passwords\n"
        "Stop the suite with: python3 dev.py suite stop"
    )


if __name__ == "__main__":
    sys.exit(main())
