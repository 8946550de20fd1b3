# SPDX-License-Identifier: Apache-2.0
"""Run the commands of a page as a reader copies them: an ordinary user, in a folder like a clone of the project."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.docs.homes import as_user, new_project, variables, with_port
from tests.services import Service

# JSON documents, whose types are what is tested with them.
Json = Any

# Printed after each block.
_END_OF_BLOCK = "\x1e"
# The longest of them installs libraries.
_WITHIN = 600


def outputs(service: Service, *blocks: str) -> Sequence[str]:
    """Run blocks in one shell, and return the output of each."""
    marked = (f"{block}\nprintf '{_END_OF_BLOCK}'" for block in blocks)
    return printed(service, *marked).split(_END_OF_BLOCK)[:-1]


def run(service: Service, *blocks: str) -> list[Json]:
    """Run blocks in one shell, and answer the JSON documents that they print."""
    return list(documents(printed(service, *blocks)))


def printed(service: Service, *blocks: str) -> str:
    """The output of blocks in one shell, in a new folder."""
    return printed_in(new_project(service), service, *blocks)


def printed_in(folder: Path, service: Service, *blocks: str, more: Mapping[str, str] | None = None) -> str:
    """The same in a folder of `new_project` with files of the reader. `more` are variables that the reader has set."""
    script = "set -euo pipefail\n" + "\n".join(f"{block}\necho" for block in blocks)
    done = subprocess.run(
        [*as_user(), "bash", "-c", with_port(script, service)],
        cwd=folder,
        env={**variables(service), **(more or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_WITHIN,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def documents(text: str) -> Iterator[Json]:
    """The JSON documents of a text, one behind the other."""
    while text := text.lstrip():
        document, end = json.JSONDecoder().raw_decode(text)
        yield document
        text = text[end:]
