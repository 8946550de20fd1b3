#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that each source file names its licence; `python3 dev.py check` runs it.

The SPDX line is one of the first lines of a file. `--add` inserts it where it is missing.
"""

from __future__ import annotations

import sys
from pathlib import Path

from checks.tracked import tracked_files

ROOT = Path(__file__).resolve().parents[1]
LICENCE = "SPDX-License-Identifier: Apache-2.0"
# A first line for the interpreter, and a sentence about the generator, may come before.
FIRST_LINES = 4

# The comment of each kind of source file. Data, locks and Markdown have no header.
HASH = "# {}\n"
COMMENTS = {
    ".css": "/* {} */\n",
    # A comment of Jinja, so that no page has it. It removes the line break around it.
    ".html": "{{#- {} -#}}\n",
    ".js": "// {}\n",
    ".lua": "-- {}\n",
    ".py": HASH,
    ".service": HASH,
    ".sh": HASH,
    ".sql": "-- {}\n",
    ".svg": "<!-- {} -->\n",
    ".toml": HASH,
    ".ts": "// {}\n",
    ".yaml": HASH,
    ".yml": HASH,
}
# Databases store the checksum of each migration that has run, so a migration never changes.
UNCHANGEABLE = "/migrations/"


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Check the tracked source files, or add the missing headers."""
    files = tracked(root)
    if files is None:
        print("licences   not checked: this is no git repository", file=sys.stderr)
        return 0
    missing = [file for file in files if is_missing(file)]
    if "--add" in arguments:
        for file in missing:
            add(file)
        return 0
    for file in missing:
        print(f"{file.relative_to(root)} names no licence. Run: python3 -m checks.licences --add")
    return int(bool(missing))


def tracked(root: Path) -> list[Path] | None:
    """List the source files that git knows; None without git or a repository."""
    files = tracked_files(root)
    if files is None:
        return None
    changeable = (file for file in files if UNCHANGEABLE not in f"/{file.relative_to(root).as_posix()}")
    return [file for file in changeable if comment(file)]


def comment(file: Path) -> str:
    """Return the form of a comment in a source file; empty for a file of another kind."""
    if file.suffix or file.name.startswith("."):
        return COMMENTS.get(file.suffix, "")
    with file.open("rb") as opened:
        is_script = opened.read(2) == b"#!"
    return HASH if is_script or file.name == "Containerfile" else ""


def is_missing(file: Path) -> bool:
    """Decide whether the first lines of a file lack the SPDX line."""
    with file.open(encoding="utf-8") as lines:
        return not any(LICENCE in line for _, line in zip(range(FIRST_LINES), lines, strict=False))


def add(file: Path) -> None:
    """Insert the SPDX line, below a line for the interpreter."""
    first, *rest = file.read_text(encoding="utf-8").splitlines(keepends=True) or [""]
    header = comment(file).format(LICENCE)
    lines = [first, header, *rest] if first.startswith("#!") else [header, first, *rest]
    file.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
