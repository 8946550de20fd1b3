# SPDX-License-Identifier: Apache-2.0
"""The certified OpenID provider `oidc-provider` of npm, with the console as its client.

It demands PKCE, and authenticates its client by Basic. A code and a refresh token count once: a second use revokes all
tokens of the sign-in (RFC 9700, 4.14). Any password is right on its sign-in page.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import httpx2

import dev
from tests.services import ADA, ADA_MAIL, API, TLS

# Characters of the secret that Basic has to encode first (RFC 6749, 2.3.1).
CLIENT, SECRET = "chamberlain.console", "s3cr:t/+ %-of-the-console"
SCOPES = ("collab/App.ReadWrite.All", "mail/App.ReadWrite.All", "admin/Config.ReadWrite.All")
PROGRAM: Final = dev.TYPESCRIPT / "openid_provider.mjs"


@dataclass(frozen=True, slots=True)
class OpenidProvider:
    address: str
    sign_out_uri: str

    def events(self) -> list[str]:
        """The grant types of all answered calls for tokens, and all errors, in their order."""
        found: list[str] = httpx2.get(f"{self.address}/events", timeout=30, verify=TLS, trust_env=False).json()
        return found


@contextmanager
def run_openid_provider(console_url: str) -> Iterator[OpenidProvider]:
    """Run the provider on a free port of loopback."""
    sign_out_uri = f"{console_url}sign-in"
    wanted = {
        "clientId": CLIENT,
        "clientSecret": SECRET,
        "redirectUri": f"{console_url}signed-in",
        "signOutUri": sign_out_uri,
        "audience": API,
        "scopes": [f"{API}/{each}" for each in SCOPES],
        "users": {ADA_MAIL: ADA},
    }
    node = shutil.which("node")
    assert node is not None
    with subprocess.Popen(
        [node, str(PROGRAM), json.dumps(wanted)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address, "The provider has not started."
            yield OpenidProvider(address, sign_out_uri)
        finally:
            # It ends with its input.
            process.stdin.close()
