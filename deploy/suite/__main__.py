# SPDX-License-Identifier: Apache-2.0
"""Start, stop and describe an open suite; `python3 dev.py suite` runs it."""

import argparse
import sys
import time
from pathlib import Path

from deploy.suite.folder import DEFAULT, CannotStart, Suite, created, opened
from deploy.suite.people import password_of
from deploy.suite.processes import end, is_running
from deploy.suite.servers import Starter

PARTS = ("slapd", "dovecot", "postfix", "postgresql", "memcached", "sogo", "synapse")


def main() -> int:
    """Do what the arguments say. Returns an exit code."""
    asked = _arguments()
    parts = tuple(asked.parts or PARTS)
    try:
        if asked.word == "start":
            start(created(asked.folder), asked.synapse, parts)
        elif asked.word == "stop":
            suite = opened(asked.folder)
            end(suite, [part for part in parts if is_running(suite, part)])
            print("Stopped.")
        else:
            describe(opened(asked.folder))
    except CannotStart as reason:
        print(reason, file=sys.stderr)
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
    describe(suite)


def describe(suite: Suite) -> None:
    """Print where a suite is, and how people sign in."""
    for part in PARTS:
        print(f"{part:10} {'runs' if is_running(suite, part) else 'is stopped'}")
    print(f"Folder     {suite.folder}")
    print(f"Mail       IMAP at port {suite.port('IMAP')}, submission at port {suite.port('SUBMISSION')}")
    print(f"Calendar   {suite.url('SOGO')}/SOGo")
    print(f"Teams      {suite.url('MATRIX')}")
    print(f"Sign in    as ada with the password {password_of('ada')}; the others alike", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 dev.py suite", description=__doc__)
    parser.add_argument("word", choices=("start", "stop", "show"))
    parser.add_argument(
        "parts", nargs="*", choices=(*PARTS, []), metavar="PART", help=f"{', '.join(PARTS)}; default all"
    )
    parser.add_argument("--folder", type=Path, default=DEFAULT, help=f"Folder of the suite. Default {DEFAULT}.")
    parser.add_argument("--synapse", type=Path, default=Path(".venv-synapse/bin/python"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
