# SPDX-License-Identifier: Apache-2.0
"""Run the service with the example estate on an open suite; `python3 dev.py run --suite` does it.

The service is a child process with the arguments of `chamberlain serve`. Once it answers, its example tenant is
connected to the suite.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from deploy.suite.connection import connect, environment_of
from deploy.suite.folder import Suite
from deploy.suite.people import password_of

ADMINISTER = "https://api.estate.example/admin/Config.ReadWrite.All"
COMMAND = (str(Path(sys.executable).with_name("chamberlain")),)
# A first start creates the database.
READY_WITHIN = 120.0


def serve(suite: Suite, arguments: Sequence[str]) -> int:
    """Run the service until it ends. Returns its exit code."""
    environment = {**os.environ, **environment_of(suite)}
    service = subprocess.Popen([*COMMAND, "serve", *arguments], env=environment)
    # The terminal sends Ctrl-C to both. The service ends in its own time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: service.terminate())
    try:
        options = _options(arguments)
        if (token := _token(service, options)) is not None:
            print(_welcome(suite, connect(suite, options.public_url or _address(options), token)), flush=True)
        return service.wait()
    finally:
        if service.poll() is None:
            service.terminate()
            service.wait()


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the options of the service that its clients need."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--port", default=os.environ.get("CHAMBERLAIN_PORT", "8365"))
    parser.add_argument("--data-dir")
    parser.add_argument("--public-url")
    return parser.parse_known_args(arguments)[0]


def _address(options: argparse.Namespace) -> str:
    return f"http://127.0.0.1:{options.port}"


def _token(service: subprocess.Popen[bytes], options: argparse.Namespace) -> str | None:
    """Return a token of Ada as soon as the service answers. None if it ends before."""
    where = ["--port", options.port, *(["--data-dir", options.data_dir] if options.data_dir else [])]
    command = [*COMMAND, "token", "--user", "ada@estate.example", "--scope", ADMINISTER, *where]
    until = time.monotonic() + READY_WITHIN
    while service.poll() is None and time.monotonic() < until:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
        time.sleep(0.5)
    return None


def _welcome(suite: Suite, connection: dict[str, object]) -> str:
    if connection["state"] != "ready":
        return f"The connection to the suite is {connection['state']}: {json.dumps(connection['stateReason'])}"
    return f"""
The example estate uses the open suite in {suite.folder}.

Request a mailbox and a team, in the console or at the command line:
  .venv-suite/bin/chamberlain login
  .venv-suite/bin/chamberlain mailbox create --template "Shared mailbox" --name info --display-name Information \\
    --permission ada@estate.example=FullAccess --wait
  .venv-suite/bin/chamberlain group create --template "Project team" --display-name Orchard --wait

Open the mailbox in web mail, below "Other Users", and invite rooms in the calendar:
  {suite.url("WEB")}/SOGo/
Open the team in a Matrix client, such as Element, with this homeserver:
  {suite.url("MATRIX")}
Sign in to both as ada with the password {password_of("ada")}, or as ben, cleo or dara alike.

Ctrl-C ends the service. The suite runs until: python3 dev.py suite stop"""
