# SPDX-License-Identifier: Apache-2.0
"""Mail clients of the people of a suite: IMAP and SMTP of the standard library."""

import base64
import imaplib
import re
import smtplib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage, Message

import httpx2

from deploy.suite.folder import HOST, Suite
from deploy.suite.people import password_of

# Postfix delivers within a second; a busy machine takes longer.
DELIVERED_WITHIN = 30.0
# A list of hundreds of shared mailboxes reads the rights in each.
LISTED_WITHIN = 600.0


@dataclass(frozen=True, slots=True)
class MailClient:
    """Signs people in by name, with the password of the directory."""

    suite: Suite

    @contextmanager
    def imap(self, name: str, within: float = 30.0) -> Iterator[imaplib.IMAP4]:
        """A signed-in session. Each answer comes within so many seconds."""
        session = imaplib.IMAP4(HOST, self.suite.port("IMAP"), timeout=within)
        try:
            session.login(name, password_of(name))
            yield session
        finally:
            session.logout()

    def can_sign_in(self, name: str, password: str) -> bool:
        """Return whether the server accepts a name with a password."""
        session = imaplib.IMAP4(HOST, self.suite.port("IMAP"), timeout=30)
        try:
            session.login(name, password)
        except imaplib.IMAP4.error:
            return False
        else:
            return True
        finally:
            session.logout()

    def folders(self, name: str) -> set[str]:
        """The folders that a person sees."""
        with self.imap(name, LISTED_WITHIN) as session:
            return _names(session.list()[1])

    def subscribed(self, name: str) -> set[str]:
        """The folders that a person's client shows without asking."""
        with self.imap(name, LISTED_WITHIN) as session:
            return _names(session.lsub()[1])

    def can_open(self, name: str, folder: str) -> bool:
        """Return whether a person can open a folder."""
        with self.imap(name) as session:
            return session.select(_quoted(folder), readonly=True)[0] == "OK"

    def create_folder(self, name: str, folder: str) -> None:
        """Create a folder as a person."""
        with self.imap(name) as session:
            answer = session.create(_quoted(folder))
            assert answer[0] == "OK", answer

    def messages(self, name: str, folder: str = "INBOX") -> list[Message]:
        """The messages in a folder that a person opens."""
        with self.imap(name) as session:
            assert session.select(_quoted(folder), readonly=True)[0] == "OK"
            numbers = session.search(None, "ALL")[1][0].split()
            fetched = [session.fetch(number.decode(), "(RFC822)")[1] for number in numbers]
        return [message_from_bytes(part[1]) for parts in fetched for part in parts if isinstance(part, tuple)]

    def wait_for(self, name: str, subject: str, folder: str = "INBOX", *, within: float = DELIVERED_WITHIN) -> Message:
        """The message with a subject, as soon as it is there."""
        until = time.monotonic() + within
        while True:
            for message in self.messages(name, folder):
                if subject in str(message["Subject"]):
                    return message
            assert time.monotonic() < until, f"{folder} of {name} has no message about {subject}."
            time.sleep(0.2)

    def send(self, name: str, sender: str, recipient: str, subject: str, body: str = "Hello.") -> None:
        """Send a message as a signed-in person. Raises SMTPException if the server refuses it."""
        with smtplib.SMTP(HOST, self.suite.port("SUBMISSION"), timeout=30) as session:
            session.login(name, password_of(name))
            session.send_message(_message(sender, recipient, subject, body))

    def receive(self, sender: str, recipient: str, subject: str, body: str = "Hello.") -> None:
        """Deliver a message that comes from outside."""
        with smtplib.SMTP(HOST, self.suite.port("SMTP"), timeout=30) as session:
            session.send_message(_message(sender, recipient, subject, body))

    def invite(self, sender: str, recipient: str, calendar: str) -> None:
        """Deliver an invitation that comes from outside, as iMIP (RFC 6047)."""
        message = _message(sender, recipient, "Invitation", "You are invited.")
        message.add_alternative(calendar, subtype="calendar", params={"method": "REQUEST"})
        with smtplib.SMTP(HOST, self.suite.port("SMTP"), timeout=30) as session:
            session.send_message(message)

    def grant(self, mailbox: str, folder: str, name: str) -> None:
        """Let a person read a folder, as the operator does by hand."""
        self._doveadm("aclSet", user=mailbox, mailbox=folder, id=f"user={name}", right=["lookup", "read"])

    def own_folders(self, mailbox: str) -> list[str]:
        """The folders of a mailbox, as the operator sees them."""
        return [row["mailbox"] for row in self._doveadm("mailboxList", user=mailbox)]

    def rights(self, mailbox: str, folder: str) -> dict[str, set[str]]:
        """The rights of people in a folder, by name."""
        return _rights(self._doveadm("aclGet", user=mailbox, mailbox=folder))

    def access(self, mailboxes: Sequence[str]) -> Iterator[tuple[dict[str, set[str]], str]]:
        """The rights in the inbox of each mailbox, and its active script, empty without one."""
        for name in mailboxes:
            script = {"user": name, "scriptname": "chamberlain"}
            rights, scripts, text = self._doveadm_all(
                ("aclGet", {"user": name, "mailbox": "INBOX"}), ("sieveList", {"user": name}), ("sieveGet", script)
            )
            is_active = any(row["script"] == "chamberlain" and row.get("active") for row in scripts)
            # The only column of the last answer is the text.
            yield _rights(rights), "".join(each for row in text for each in row.values()) if is_active else ""

    def administer(self, command: str, **parameters: object) -> None:
        """Run a command of doveadm, as the operator does by hand."""
        self._doveadm(command, **parameters)

    def _doveadm(self, command: str, **parameters: object) -> list[dict[str, str]]:
        [rows] = self._doveadm_all((command, parameters))
        return rows

    def _doveadm_all(self, *commands: tuple[str, Mapping[str, object]]) -> list[list[dict[str, str]]]:
        key = base64.b64encode(self.suite.values["DOVEADM_KEY"].encode()).decode()
        answer = httpx2.post(
            f"{self.suite.url('DOVEADM')}/doveadm/v1",
            json=[[command, parameters, "0"] for command, parameters in commands],
            headers={"Authorization": f"X-Dovecot-API {key}"},
            timeout=60,
        )
        assert answer.status_code == 200, answer.text
        assert {kind for kind, _, _ in answer.json()} == {"doveadmResponse"}, answer.text
        return [rows for _, rows, _ in answer.json()]


def _rights(rows: Sequence[Mapping[str, str]]) -> dict[str, set[str]]:
    return {row["id"].removeprefix("user="): set(row["rights"].split()) for row in rows}


def _message(sender: str, recipient: str, subject: str, body: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, recipient, subject
    message.set_content(body)
    return message


def _names(lines: Sequence[object]) -> set[str]:
    found = set()
    for line in lines:
        if isinstance(line, bytes) and (match := re.search(rb'"/" "?([^"]+)"?$', line)) is not None:
            found.add(match[1].decode())
    return found


def _quoted(folder: str) -> str:
    return f'"{folder}"'
