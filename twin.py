#!/usr/bin/env python3
"""Makes the client that does not await from the one that does: word by word, then in the form that ruff gives it.

`python3 dev.py twin` writes it. Needs nothing but ruff beside the standard library.
"""

from __future__ import annotations

import io
import re
import subprocess
import tempfile
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent
CLIENT = ROOT / "src" / "chamberlain_client"
WRITTEN, MADE = CLIENT / "asynchronous", CLIENT / "synchronous"

# Names that lose more than the word Async in front of them.
NAMES = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "aclose": "close",
    "aclosing": "closing",
    "async_token_of": "token_of",
    "asynccontextmanager": "contextmanager",
    "asynchronous": "synchronous",
    "aiter_bytes": "iter_bytes",
    "aiter_lines": "iter_lines",
}
HEAD = "# Made by `python3 dev.py twin` from asynchronous/{name}, which is the one to be changed.\n"


def write(ruff: Path) -> None:
    """Bring the twin up to date."""
    wanted = twins(ruff)
    for stale in {file.name for file in MADE.glob("*.py")} - {*wanted, "__init__.py"}:
        (MADE / stale).unlink()
    for name, text in wanted.items():
        (MADE / name).write_text(text, encoding="utf-8")


def twins(ruff: Path) -> dict[str, str]:
    """The files of the twin by name, as they ought to be; the first one of a package is written by hand in both."""
    names = sorted(file.name for file in WRITTEN.glob("*.py") if file.name != "__init__.py")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in names]
        for file in files:
            text = (WRITTEN / file.name).read_text(encoding="utf-8")
            file.write_text(HEAD.format(name=file.name) + plain(text), encoding="utf-8")
        # In the tree's own form. Who is at home in it ruff would see from the place alone.
        home = 'lint.isort.known-first-party = ["chamberlain_client"]'
        ours = ("--config", str(ROOT / "pyproject.toml"), "--config", home, "--no-cache", "--quiet")
        better = ("--select=I,UP028", "--fix", "--unsafe-fixes")
        subprocess.run([ruff, "check", *ours, *better, *files], check=True, cwd=ROOT)
        subprocess.run([ruff, "format", *ours, *files], check=True, cwd=ROOT)
        return {file.name: file.read_text(encoding="utf-8") for file in files}


def plain(text: str) -> str:
    """The text of a module without what awaits."""
    lines = text.splitlines(keepends=True)
    # From the last to the first, so that what is changed moves nothing that is still to be changed.
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        (row, begin), (last, end) = token.start, token.end
        if token.type == tokenize.NAME and token.string in {"async", "await"}:
            lines[row - 1] = lines[row - 1][:begin] + lines[row - 1][end:].lstrip(" ")
        elif token.type == tokenize.NAME:
            lines[row - 1] = lines[row - 1][:begin] + renamed(token.string) + lines[row - 1][end:]
        elif token.type in {tokenize.STRING, tokenize.COMMENT}:
            # A text may go over several lines; only its words are changed, never its ends.
            for place in range(row - 1, last):
                start, stop = begin if place == row - 1 else 0, end if place == last - 1 else len(lines[place])
                words = re.sub(r"\w+", lambda word: renamed(word[0]), lines[place][start:stop])
                lines[place] = lines[place][:start] + words + lines[place][stop:]
    return "".join(lines)


def renamed(name: str) -> str:
    """What the twin calls it."""
    return NAMES.get(name) or re.sub(r"^Async(?=[A-Z])", "", name)
