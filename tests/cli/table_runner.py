# SPDX-License-Identifier: Apache-2.0
"""Run the command lines of a file in one process.

Each output ends with a line of the separator and the exit code.
"""

import shlex
import sys

from chamberlain.app.cli import app

SEPARATOR = "\x1e"


def main() -> None:
    """Run all command lines of the file, and print the exit codes."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - pathlib would be imported for it.
        for line in file:
            try:
                app(shlex.split(line)[1:], prog_name="chamberlain")
            except SystemExit as ended:
                sys.stdout.write(f"{SEPARATOR}{ended.code or 0}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
