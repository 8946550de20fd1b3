# SPDX-License-Identifier: Apache-2.0
"""Firefox for tests, driven by Marionette, its own protocol for automation.

A message is the length of its JSON, a colon, and the JSON: `[0, id, command, parameters]`, answered by
`[1, id, error, result]`. https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html has the protocol.
Debian 12 has no geckodriver, which would translate WebDriver to it.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.services import wait_until

STARTED_WITHIN = 60.0
# Firefox waits so long for an element and a page, in milliseconds.
_SHOWN_WITHIN = 30_000
# The name of a reference to an element (WebDriver, 12.2).
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# The port is any free one, and nothing is loaded but the pages of the test.
_PREFERENCES: Mapping[str, object] = {
    "marionette.port": 0,
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.systemAddon.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.disablePrefetch": True,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}

# Results of commands are any JSON.
Json = Any


class FirefoxError(Exception):
    """Firefox refused a command."""


@dataclass
class Firefox:
    """One window of a running Firefox."""

    connection: socket.socket
    numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        # The greeting names the protocol.
        assert self._receive()["marionetteProtocol"] == 3
        # The pages of sign-in have a certificate of the test.
        self._ask("WebDriver:NewSession", {"acceptInsecureCerts": True})
        self._ask("WebDriver:SetTimeouts", {"implicit": _SHOWN_WITHIN, "pageLoad": _SHOWN_WITHIN})

    def open(self, url: str) -> None:
        self._ask("WebDriver:Navigate", {"url": url})

    def find(self, css: str) -> str:
        """Wait for an element."""
        found: str = self._ask("WebDriver:FindElement", {"using": "css selector", "value": css})["value"][_ELEMENT]
        return found

    def click(self, css: str) -> None:
        self._ask("WebDriver:ElementClick", {"id": self.find(css)})

    def type(self, css: str, text: str) -> None:
        element = self.find(css)
        self._ask("WebDriver:ElementClear", {"id": element})
        self._ask("WebDriver:ElementSendKeys", {"id": element, "text": text})

    def text(self, css: str) -> str:
        found: str = self._ask("WebDriver:GetElementText", {"id": self.find(css)})["value"]
        return found

    @property
    def url(self) -> str:
        found: str = self._ask("WebDriver:GetCurrentURL", {})["value"]
        return found

    def cookies(self) -> list[dict[str, Json]]:
        """The cookies that the page gets, those hidden from scripts included."""
        found: list[dict[str, Json]] = self._ask("WebDriver:GetCookies", {})
        return found

    def quit(self) -> None:
        self._ask("Marionette:Quit", {"flags": ["eForceQuit"]})

    def _ask(self, command: str, parameters: Mapping[str, object]) -> Json:
        number = next(self.numbers)
        sent = json.dumps([0, number, command, parameters]).encode()
        self.connection.sendall(b"%d:%s" % (len(sent), sent))
        kind, answered, error, result = self._receive()
        assert (kind, answered) == (1, number)
        if error is not None:
            raise FirefoxError(f"{command}: {error['error']}: {error['message']}")
        return result

    def _receive(self) -> Json:
        length = b""
        while not length.endswith(b":"):
            length += self._read(1)
        return json.loads(self._read(int(length[:-1])))

    def _read(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self.connection.recv(size - len(found))
            assert part, "Firefox has closed the connection."
            found += part
        return found


@contextmanager
def run_firefox() -> Iterator[Firefox]:
    """Start Firefox without a window, with a profile of its own."""
    program = shutil.which("firefox-esr")
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="firefox-") as home:
        profile = Path(home) / "profile"
        profile.mkdir()
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in _PREFERENCES.items()]
        (profile / "user.js").write_text("\n".join(lines))
        process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--marionette", "--profile", str(profile)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": home, "MOZ_HEADLESS": "1", "MOZ_CRASHREPORTER_DISABLE": "1"},
        )
        try:
            port = _port_of(process, profile / "MarionetteActivePort")
            with socket.create_connection(("127.0.0.1", port), timeout=STARTED_WITHIN) as connection:
                firefox = Firefox(connection)
                yield firefox
                firefox.quit()
            process.wait(STARTED_WITHIN)
        finally:
            process.kill()
            process.wait(STARTED_WITHIN)


def _port_of(process: "subprocess.Popen[bytes]", path: Path) -> int:
    """Wait for the file that Firefox writes when it listens."""

    def read() -> str:
        assert process.poll() is None, "Firefox has ended."
        return path.read_text().strip() if path.exists() else ""

    return int(wait_until(read, STARTED_WITHIN))
