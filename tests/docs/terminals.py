# SPDX-License-Identifier: Apache-2.0
"""A terminal in which a page is typed, block by block."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.cli.browser_user import browser_user
from tests.docs.homes import as_user, new_project, variables, with_port
from tests.services import Service

_PROMPT = re.compile(r"(https://\S+) .*\b([A-Z]{4}-[A-Z]{4})\b")
_WITHIN = 60


def sign_in(service: Service) -> None:
    """Sign in as Ada at the command line, as the tutorial does before the pages begin."""
    with browser_user(service) as ada:
        Terminal(new_project(service), service).sign_in(".venv/bin/chamberlain login", ada)


class BrowserUser(Protocol):
    """A user who allows a sign-in at an address by a code."""

    def allow(self, address: str, code: str, /) -> object: ...


@dataclass(frozen=True, slots=True)
class Terminal:
    """A shell of the ordinary user in a folder of the project."""

    folder: Path
    service: Service

    def type(self, block: str) -> str:
        """The output of a block and its errors, when all of it has succeeded."""
        with self._running(block) as process:
            said, _ = process.communicate(timeout=_WITHIN)
        assert process.returncode == 0, said
        return said

    def sign_in(self, block: str, browser_user: BrowserUser) -> str:
        """The same for a block that shows a code and waits until a user has entered it in a browser."""
        with self._running(block) as process:
            assert process.stdout is not None
            said = ""
            while (prompt := _PROMPT.search(said)) is None:
                line = process.stdout.readline()
                assert line, said
                said += line
            browser_user.allow(*prompt.groups())
            rest, _ = process.communicate(timeout=_WITHIN)
        assert process.returncode == 0, said + rest
        return said + rest

    def _running(self, block: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*as_user(), "bash", "-c", f"set -euo pipefail\n{with_port(block, self.service)}"],
            cwd=self.folder,
            env=variables(self.service),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
