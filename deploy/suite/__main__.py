# SPDX-License-Identifier: Apache-2.0
"""Start, stop and show an open suite, or run the service with the example estate on it.

`python3 dev.py suite` and `python3 dev.py run --suite` run it.
"""

import argparse
import sys
import time
from pathlib import Path

from deploy.suite.folder import DEFAULT, CannotStart, Suite, created, opened
from deploy.suite.people import password_of
from deploy.suite.processes import end, is_running
from deploy.suite.servers import PARTS, Starter


def main() -> int:
    """Do what the arguments say. Returns an exit code."""
    asked, others = _arguments()
    parts = tuple(asked.parts or PARTS)
    try:
        match asked.word:
            case "start":
                suite = created(asked.folder)
                start(suite, asked.synapse.absolute(), parts)
                describe(suite)
            case "stop":
                suite = opened(asked.folder)
                end(suite, [part for part in parts if is_running(suite, part)])
                print("Stopped.")
            case "show":
                describe(opened(asked.folder))
            case _:
                # Its libraries are in the environment with the extra `opensuite` only.
                from deploy.suite.example import serve

                suite = created(asked.folder)
                start(suite, asked.synapse.absolute(), PARTS)
                return serve(suite, others)
    except CannotStart as reason:
        print(reason, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.strerror}: {error.filename or asked.folder}", file=sys.stderr)
        return 1
    return 0


def start(suite: Suite, python: Path, parts: tuple[str, ...]) -> None:
    """Start servers, and print how long it took. If one fails, all that were started end."""
    began = time.monotonic()
    before = [part for part in parts if is_running(suite, part)]
    try:
        Starter(suite, python).start(parts)
    except BaseException:
        end(suite, [part for part in parts if part not in before])
        raise
    print(f"Started in {time.monotonic() - began:.1f} s.", flush=True)


def describe(suite: Suite) -> None:
    """Print where a suite is, and how people sign in."""
    for part in PARTS:
        print(f"{part:10} {'runs' if is_running(suite, part) else 'is stopped'}")
    print(f"Folder     {suite.folder}")
    print(f"Mail       IMAP at port {suite.port('IMAP')}, submission at port {suite.port('SUBMISSION')}")
    print(f"Web mail   {suite.url('WEB')}/SOGo/")
    print(f"Teams      {suite.url('MATRIX')}")
    print(f"Sign in    as ada with the password {password_of('ada')}; the others alike", flush=True)


def _arguments() -> tuple[argparse.Namespace, list[str]]:
    """Parse the arguments. Others are for the service."""
    parser = argparse.ArgumentParser(
        prog="python3 dev.py suite", description="Start, stop and show an open suite.", allow_abbrev=False
    )
    parser.add_argument("word", choices=("start", "stop", "show", "run"), metavar="start|stop|show")
    parser.add_argument(
        "parts", nargs="*", choices=(*PARTS, []), metavar="PART", help=f"{', '.join(PARTS)}; default all"
    )
    parser.add_argument("--folder", type=Path, default=DEFAULT, help=f"Folder of the suite. Default {DEFAULT}.")
    parser.add_argument("--synapse", type=Path, default=Path(".venv-synapse/bin/python"), help=argparse.SUPPRESS)
    asked, others = parser.parse_known_args()
    if others and asked.word != "run":
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    return asked, others


if __name__ == "__main__":
    sys.exit(main())
