"""Run the commands of a page as a reader copies them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT
from tests.services import Service

# JSON documents, whose types are what is tested with them.
Json = Any

PROGRAMS = Path(sys.executable).parent


def run(service: Service, *blocks: str) -> list[Json]:
    """Run blocks in one shell, and answer the JSON documents that they print."""
    return list(documents(printed(service, *blocks)))


def printed(service: Service, *blocks: str) -> str:
    """The output of blocks in one shell, against this service instead of the usual address."""
    script = "set -eu\n" + "\n".join(f"{block}\necho" for block in blocks)
    script = script.replace("127.0.0.1:8365", f"127.0.0.1:{service.port}").replace(".venv/bin/", f"{PROGRAMS}/")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env={**os.environ, "CHAMBERLAIN_PORT": str(service.port), "CHAMBERLAIN_DATA_DIR": str(service.data_dir)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def documents(text: str) -> Iterator[Json]:
    """The JSON documents of a text, one behind the other."""
    while text := text.lstrip():
        document, end = json.JSONDecoder().raw_decode(text)
        yield document
        text = text[end:]
