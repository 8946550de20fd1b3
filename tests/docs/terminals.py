"""A terminal in which a page is typed, block by block."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.chromium import BrowserUser

_PROMPT = re.compile(r"(https://\S+) .*\b([A-Z]{4}-[A-Z]{4})\b")
_WITHIN = 60


@dataclass(frozen=True, slots=True)
class Terminal:
    """A shell in a folder. `replaced` is what is written otherwise here than on the page, such as a port."""

    folder: Path
    environment: Mapping[str, str]
    replaced: Mapping[str, str]

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
        for written, here in self.replaced.items():
            block = block.replace(written, here)
        return subprocess.Popen(
            ["bash", "-c", f"set -euo pipefail\n{block}"],
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
