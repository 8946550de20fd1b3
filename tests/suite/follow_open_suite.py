# SPDX-License-Identifier: Apache-2.0
"""Follow open-suite.md on four servers: python3 -m tests.suite.follow_open_suite FOLDER SYNAPSE.

Run it in namespaces of its own, as `four_servers` says.
"""

import imaplib
import os
import re
import smtplib
import ssl
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import httpx2

from tests.cli.browser_user import browser_user
from tests.cli.shell import Shell
from tests.docs.pages import ROOT
from tests.services import Service, running_service, wait_until
from tests.suite.calendar_client import CalendarClient
from tests.suite.four_servers import CLONE, SERVERS, Server, boot, execute, make_network, make_writable, shell

PAGE: Final = ROOT / "docs" / "how-to" / "open-suite.md"
ROOM: Final = "lake-view@rooms.estate.example"
START: Final = datetime(2031, 1, 6, 9, tzinfo=UTC)
AUTHORITIES: Final = "/usr/local/share/ca-certificates/suite.crt"
# Commands, and the output that follows them.
_BLOCK: Final = re.compile(r"^```sh\n(.*?)^```\n(?:\nYou see:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
BUNDLE: Final = "/etc/ssl/certs/ca-certificates.crt"
_WITHIN: Final = 60.0


def main() -> None:
    """Follow the page, and book the room without and with TLS."""
    folder, synapse = map(Path, sys.argv[1:])
    # The libraries of clients would trust authorities of their own.
    os.environ |= {"SSL_CERT_FILE": BUNDLE, "REQUESTS_CA_BUNDLE": BUNDLE}
    blocks = blocks_by_heading()
    make_network()
    make_writable(folder, "/etc", "/usr/local/share")
    with ExitStack() as stack:
        servers = [boot(number, folder / str(number), stack) for number in SERVERS]
        host = make_host(folder / "clone")
        host.run(*blocks.pop("1. Write the settings"))
        for server in servers:
            server.give(host.clone / "suite.env")
        # The block that installs Synapse is not run. Its user reads the environment of the tests, and its Python.
        parents = " ".join(str(each) for each in {*ROOT.parents, *synapse.resolve().parents})
        servers[3].run(f"ln -s {synapse.parents[1]} /opt/synapse", f"chmod o+x {parents}")
        for server, heading in zip(
            servers, ("2. The directory", "3. Mail", "4. The calendar", "5. Teams"), strict=True
        ):
            follow(server, *blocks.pop(heading))
        write, add = blocks.pop("6. Connect the tenant")
        host.run(write)
        with running_service(environment=shown_settings()) as service:
            host.sign_in(service)
            host.run(add, *blocks.pop("7. Create a room that answers"))
            book("http://10.20.0.3", START)
            add_tls(host, servers, *blocks.pop("8. Add TLS"))
            book("https://10.20.0.3", START + timedelta(days=1))
            use_tls(ssl.create_default_context())
    assert blocks == {}


@dataclass(frozen=True, slots=True)
class Block:
    """Commands of the page, and the output that it shows for them."""

    text: str
    shown: Sequence[str]


def blocks_by_heading() -> dict[str, list[Block]]:
    """Read the blocks that a reader runs, by the headings of the page."""
    found: dict[str, list[Block]] = {}
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        blocks = _BLOCK.findall(part)
        if blocks:
            found[part.partition("\n")[0]] = [Block(text, shown.splitlines()) for text, shown in blocks]
    return found


def shown_settings() -> dict[str, str]:
    """Read the settings of the service that the page shows."""
    return dict(re.findall(r"^(CHAMBERLAIN_\w+)=(.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


@dataclass(slots=True)
class Host:
    """The host of the service, with a clone."""

    clone: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def run(self, *blocks: Block) -> None:
        """Run blocks in the clone, in one shell with the settings."""
        more = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **self.variables}
        read = "[ ! -e suite.env ] || . ./suite.env"
        compare(blocks, shell([f"cd {self.clone}", read, *(block.text for block in blocks)], more=more))

    def sign_in(self, service: Service) -> None:
        """Sign in at the command line as Ada."""
        terminal = Shell(service, self.clone / "config")
        with terminal.started("login") as login, browser_user(service) as ada:
            prompt = login.wait_for(r"(https://\S+) .*\b([A-Z]{4}-[A-Z]{4})\b")
            ada.allow(prompt[1], prompt[2])
            assert login.end().code == 0
        self.variables = terminal.variables


def make_host(clone: Path) -> Host:
    """Make the clone, and the user that the service runs as."""
    clone.mkdir()
    (clone / "deploy").symlink_to(ROOT / "deploy")
    execute("groupadd --system chamberlain")
    return Host(clone)


def follow(server: Server, *blocks: Block) -> None:
    """Run blocks on a server, in one shell with the settings."""
    compare(blocks, server.run(". ./suite.env", *(block.text for block in blocks)))


def compare(blocks: Sequence[Block], said: str) -> None:
    """Compare the output of blocks with that of the page."""
    lines = said.splitlines()
    assert [line for block in blocks for line in block.shown if line not in lines] == [], said


def add_tls(host: Host, servers: Sequence[Server], create: Block, trust: Block, *rest: Block) -> None:
    """Follow the step about TLS: the blocks after the first two are for one server each, and for the host."""
    host.run(create)
    for number, server in zip(SERVERS, servers, strict=True):
        certificates = {
            f"10.20.0.{number}.crt": "/etc/ssl/suite.crt",
            f"10.20.0.{number}.key": "/etc/ssl/suite.key",
            "authority.crt": AUTHORITIES,
        }
        for file, target in certificates.items():
            server.give(host.clone / "tls" / file)
            server.run(f"mv {CLONE}/{file} {target}")
        follow(server, trust)
    execute(f"cp {host.clone}/tls/authority.crt {AUTHORITIES}")
    host.run(trust)
    *own, connect = rest
    for server, block in zip(servers, own, strict=True):
        follow(server, block)
    host.run(connect)


@dataclass(frozen=True, slots=True)
class WebServer:
    """The address of SOGo."""

    address: str

    def url(self, _: str) -> str:
        """Return the address."""
        return self.address


def book(address: str, start: datetime) -> None:
    """Invite the room, which accepts."""
    calendar = CalendarClient(WebServer(address))
    uid = calendar.book("tess", ROOM, start)
    wait_until(lambda: calendar.answer("tess", uid, ROOM) == "ACCEPTED", _WITHIN)


def use_tls(context: ssl.SSLContext) -> None:
    """Sign in at the other servers, which refuse a password without TLS."""
    with imaplib.IMAP4("10.20.0.2") as imap:
        imap.starttls(context)
        imap.login("tess", "tess-secret")
    with smtplib.SMTP("10.20.0.2", 587) as smtp:
        assert not smtp.has_extn("auth")
        smtp.starttls(context=context)
        smtp.login("tess", "tess-secret")
    versions = httpx2.get("https://10.20.0.4:8008/_matrix/client/versions", verify=context)
    assert versions.status_code == 200


if __name__ == "__main__":
    main()
