# SPDX-License-Identifier: Apache-2.0
"""The script of examples/mail takes replies as Postfix runs it, and those of a mailbox."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from runpy import run_path

import pytest

from chamberlain.embedded.identity.certificates import make_server_certificate
from tests.docs.pages import ROOT
from tests.examples.fake_imap_server import Mailbox, imap_server
from tests.fake_smtp_server import FakeSmtpServer, Received
from tests.faults.test_killed_reports import running_smtp_server
from tests.services import API, Service, free_port, restarted_service, wait_until

SCRIPT = ROOT / "examples" / "mail" / "take_replies.py"
PAGE = (ROOT / "docs" / "how-to" / "notices.md").read_text(encoding="utf-8")
CONFIDENTIAL_TEAM = "7e000000-0000-4000-8000-000000000013"
DARA = "dara@estate.example"
RESULTS = "Authentication-Results: mx.estate.example; dmarc=pass header.from=estate.example\r\n"


@pytest.mark.parametrize(
    ("results", "is_verified"),
    [
        (["mx.estate.example; dmarc=pass header.from=estate.example"], True),
        (["MX.estate.example 1;\r\n spf=pass smtp.mailfrom=dmarc.example;\r\n dmarc=pass (p=reject)"], True),
        (["mx.estate.example; spf=pass; dmarc=fail"], False),
        (["mx.estate.example; spf=pass"], False),
        (["mx.estate.example; none"], False),
        (["mx.evil.example; dmarc=pass", "mx.estate.example; dmarc=pass"], False),
        (["mx.estate.example; dmarc=none", "mx.estate.example; dmarc=pass"], False),
        (["mx.estate.example.evil.example; dmarc=pass"], False),
        (['mx.estate.example; spf=pass smtp.mailfrom="a; dmarc=pass "@evil.example; dmarc=fail'], False),
        (['mx.estate.example; spf=pass smtp.mailfrom="a; dmarc=pass "@evil.example'], False),
        (['mx.estate.example; spf=pass smtp.mailfrom="\\"; dmarc=pass ;"@evil.example'], False),
        (["mx.estate.example; spf=pass (a (b) ; dmarc=pass )"], False),
        (["mx.estate.example; spf=pass (a ; dmarc=pass"], False),
        (["mx.estate.example; dmarc=pass; dmarc=fail"], False),
        ([""], False),
        ([], False),
    ],
)
@pytest.mark.pure
def test_it_takes_only_the_verdict_of_the_own_server(results: list[str], *, is_verified: bool) -> None:
    lines = "".join(f"Authentication-Results: {each}\r\n" for each in results)
    raw = f"{lines}From: {DARA}\r\n\r\nAuthentication-Results: mx.estate.example; dmarc=pass\r\n".encode()

    assert run_path(str(SCRIPT))["is_verified"](raw, "mx.estate.example") is is_verified


@pytest.mark.pure
def test_the_page_has_every_setting() -> None:
    blocks = "".join(re.findall(r"^```ini\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    said = set(re.findall(r"^(\w+) = ", blocks, re.MULTILINE))
    source = SCRIPT.read_text(encoding="utf-8")

    known = set(re.findall(r"""settings(?:\.get\(|\[)["'](\w+)["']""", source))
    # The others have a default, or are for tests.
    assert said <= known
    assert known - said == {"token", "ca", "imap_ca", "imap_port", "imap_folder"}


@dataclass(frozen=True, slots=True)
class MailFixture:
    """A service that sends mails to an SMTP server, and the settings of the script."""

    service: Service
    smtp_server: FakeSmtpServer
    settings: Path

    def ask(self, name: str) -> tuple[str, Received]:
        """Request a team that Dara approves. Returns the id of the request, and the mail to Dara."""
        body = {"displayName": name, "templateId": CONFIDENTIAL_TEAM}
        request_id: str = self.service.post_group(body).json()["requestId"]

        def arrived() -> list[Received]:
            return [each for each in self.smtp_server.received if each.to == DARA and request_id in each.part("plain")]

        return request_id, wait_until(arrived, 30)[0]

    def state(self, request_id: str) -> object:
        return self.service.request(request_id)["state"]

    def run(self, *options: str, raw: bytes = b"", settings: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run the line of the page, as Postfix does: in a shell, with few variables."""
        (line,) = re.findall(r'^approvals: "\|(.*)"$', PAGE, re.MULTILINE)
        line = line.replace("/opt/chamberlain/bin/python", sys.executable)
        line = line.replace("/opt/chamberlain/take_replies.py", str(SCRIPT))
        line = line.replace("/etc/chamberlain/replies.ini", str(settings or self.settings))
        return subprocess.run(
            ["/bin/sh", "-c", " ".join([line, *options])],
            input=raw,
            env={"PATH": "/usr/bin:/bin", "LANG": "C", "SENDER": "eve@evil.example"},
            cwd="/",
            capture_output=True,
            timeout=60,
            check=False,
        )


def reply(asked: Received, answer: str, *, sender: str = DARA, results: str = RESULTS) -> bytes:
    """The reply of a mail program, which quotes the mail."""
    quoted = "".join(f"> {line}\r\n" for line in asked.part("plain").splitlines())
    head = f"{results}From: Dara Lindqvist <{sender}>\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    return f"{head}{answer}\r\n\r\nOn Friday, Chamberlain wrote:\r\n{quoted}".encode()


@pytest.fixture(scope="module")
def mail_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailFixture]:
    folder = tmp_path_factory.mktemp("replies")
    with running_smtp_server() as smtp_server:
        environment = {
            "CHAMBERLAIN_SMTP_URL": smtp_server.url,
            "CHAMBERLAIN_REPLY_ADDRESS": "approvals@estate.example",
        }
        with restarted_service(environment=environment) as service:
            token = service.token("mail-server", f"{API}/.default")
            settings = folder / "replies.ini"
            settings.write_text(
                f"[replies]\nserver = {service.url}\ntoken = {token}\nverified_by = mx.estate.example\n"
            )
            yield MailFixture(service, smtp_server, settings)


@pytest.mark.heavy
def test_it_works_with_the_line_for_postfix(mail_fixture: MailFixture) -> None:
    request_id, asked = mail_fixture.ask("By mail")
    raw = b"From dara@estate.example  Fri Nov 27 09:30:00 2026\n" + reply(asked, "approve").replace(b"\r\n", b"\n")

    first = mail_fixture.run(raw=raw)
    again = mail_fixture.run(raw=raw.replace(b"09:30:00", b"09:31:00"))

    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    shown = mail_fixture.service.request(request_id)
    approvals = shown["approvals"]
    assert isinstance(approvals, list)
    assert [each["by"]["displayName"] for each in approvals[0]["decisions"]] == ["Dara Lindqvist"]
    audit = mail_fixture.service.get(f"/admin/v1/audit/?subjectId={request_id}", scope=f"{API}/.default").json()
    assert [each["after"].get("channel") for each in audit["items"] if each["action"] == "request.approve"] == ["mail"]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, "Yes, please"),
        ({"sender": "ben@estate.example"}, "approve"),
        ({"results": ""}, "approve"),
        ({"results": RESULTS.replace("pass", "fail")}, "approve"),
    ],
    ids=["unclear", "another sender", "no verdict", "not verified"],
)
def test_a_reply_that_decides_nothing_goes_back(
    mail_fixture: MailFixture, changes: dict[str, str], answer: str, request: pytest.FixtureRequest
) -> None:
    request_id, asked = mail_fixture.ask(request.node.callspec.id)

    done = mail_fixture.run(raw=reply(asked, answer, **changes))

    assert done.returncode == 65
    assert done.stdout
    assert b"Traceback" not in done.stderr
    assert mail_fixture.state(request_id) == "pendingApproval"


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["token", "server"])
def test_a_mail_that_cannot_be_taken_now_is_kept(mail_fixture: MailFixture, tmp_path: Path, name: str) -> None:
    value = {"token": "none", "server": f"http://127.0.0.1:{free_port()}"}[name]
    settings = tmp_path / "replies.ini"
    settings.write_text(
        re.sub(f"^{name} = .*$", f"{name} = {value}", mail_fixture.settings.read_text(), flags=re.MULTILINE)
    )

    done = mail_fixture.run(raw=f"{RESULTS}From: {DARA}\r\n\r\napprove".encode(), settings=settings)
    missing = mail_fixture.run(settings=tmp_path / "none.ini")

    assert (done.returncode, missing.returncode) == (75, 75)
    assert b"Traceback" not in done.stderr + missing.stderr


@pytest.mark.heavy
def test_it_works_with_a_mailbox(mail_fixture: MailFixture, tmp_path: Path) -> None:
    certificate = make_server_certificate(tmp_path, datetime.now(UTC))
    (tmp_path / "ca.pem").write_text(certificate.authority_pem)
    (first, asked), (second, asked_again) = mail_fixture.ask("Mailbox 1"), mail_fixture.ask("Mailbox 2")
    mails = {1: reply(asked, "reject: No room."), 2: reply(asked_again, "No idea"), 3: reply(asked_again, "approve")}

    with imap_server(Mailbox(mails), certificate.context) as mailbox:
        settings = tmp_path / "replies.ini"
        settings.write_text(
            mail_fixture.settings.read_text()
            + f"imap_host = 127.0.0.1\nimap_port = {mailbox.port}\nimap_user = approvals\nimap_password = 50%\n"
            + f"imap_ca = {tmp_path / 'ca.pem'}\n"
        )
        done = mail_fixture.run("--imap", settings=settings)
        again = mail_fixture.run("--imap", settings=settings)

    assert (done.returncode, again.returncode) == (0, 0), done.stderr + again.stderr
    assert mailbox.flags == {1: {"\\Seen"}, 2: {"\\Seen", "\\Flagged"}, 3: {"\\Seen"}}
    assert mail_fixture.state(first) == "rejected"
    assert mail_fixture.state(second) != "pendingApproval"
