# SPDX-License-Identifier: Apache-2.0
import smtplib
from uuid import uuid4

import pytest

from tests.services import BEN, CLEO
from tests.suite.mail_client import MailClient
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_requests import SHARED, Json, SuiteRequests

# The mailbox of the domain outside, which receives automatic replies.
VERA = "vera@outside.example"


@pytest.fixture(scope="module")
def subject() -> str:
    """The subject of a message, unique in the directory."""
    return f"Order {uuid4().hex[:8]}"


def new_mailbox(requests: SuiteRequests, **properties: object) -> Json:
    """A mailbox that Ben opens and Cleo sends from."""
    permissions = {BEN: "FullAccess", CLEO: "SendAs"}
    return requests.mailbox(SHARED, "Desk", permissions=permissions, autoMapping=True, **properties)


def name_of(mailbox: Json) -> str:
    """The name of a mailbox on the servers: its address."""
    return str(mailbox["primarySmtpAddress"]).lower()


def test_it_works_for_a_user_with_full_access(requests: SuiteRequests, mail: MailClient, subject: str) -> None:
    mailbox = new_mailbox(requests)
    folder = f"shared/{name_of(mailbox)}"

    mail.receive(VERA, mailbox["primarySmtpAddress"], subject)

    mail.wait_for("ben", subject, folder)
    assert folder in mail.folders("ben")
    assert folder in mail.subscribed("ben")
    mail.create_folder("ben", f"{folder}/Done")
    assert not mail.can_open("cleo", folder)
    assert not mail.can_open("dara", folder)


def test_no_user_signs_in_as_the_mailbox(requests: SuiteRequests, mail: MailClient) -> None:
    mailbox = new_mailbox(requests)

    assert not mail.can_sign_in(name_of(mailbox), "")
    assert not mail.can_sign_in(mailbox["primarySmtpAddress"], "ben-secret")


def test_only_a_user_with_send_as_sends_from_its_addresses(requests: SuiteRequests, mail: MailClient) -> None:
    alias = f"help-{uuid4().hex[:8]}"
    mailbox = new_mailbox(requests, alias=alias)

    for address in (mailbox["primarySmtpAddress"], f"{alias}@estate.example"):
        mail.send("cleo", address, "dara@estate.example", f"From {address}")
        assert mail.wait_for("dara", f"From {address}")["From"] == address
        for other in ("ben", "dara"):
            with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
                mail.send(other, address, "dara@estate.example", "Never")
            assert refused.value.recipients["dara@estate.example"][0] == 553


def test_mail_to_its_alias_arrives(requests: SuiteRequests, mail: MailClient, subject: str) -> None:
    alias = f"offers-{uuid4().hex[:8]}"
    mailbox = new_mailbox(requests, alias=alias)

    mail.receive(VERA, f"{alias}@estate.example", subject)

    mail.wait_for("ben", subject, f"shared/{name_of(mailbox)}")


def test_mail_over_its_quota_returns_to_the_sender(requests: SuiteRequests, mail: MailClient, subject: str) -> None:
    mailbox = new_mailbox(requests, capacity=1)

    mail.receive(VERA, mailbox["primarySmtpAddress"], subject, ("x" * 70 + "\n") * 40_000)

    returned = mail.wait_for("vera", "Undelivered")
    assert mailbox["primarySmtpAddress"] in returned.as_string()


def test_it_replies_automatically(requests: SuiteRequests, mail: MailClient, subject: str) -> None:
    mailbox = new_mailbox(requests, automaticReply="Thank you.\nWe answer within a day.")

    mail.receive(VERA, mailbox["primarySmtpAddress"], subject)

    reply = mail.wait_for("vera", "Automatic reply")
    assert "We answer within a day." in reply.as_string()


def test_a_hidden_one_is_marked_for_the_address_book(requests: SuiteRequests, directory: SuiteDirectory) -> None:
    hidden, shown = new_mailbox(requests, hideFromGAL=True), new_mailbox(requests, hideFromGAL=False)

    # The filter of the source `list` in sogo.conf.
    listed = {
        entry["mail"][0]
        for entry in directory.find("(&(objectClass=chamberlainMailbox)(!(chamberlainHidden=TRUE)))", "mail")
    }
    assert shown["primarySmtpAddress"] in listed
    assert hidden["primarySmtpAddress"] not in listed


def test_rights_given_by_hand_are_revoked_in_ten_folders(
    requests: SuiteRequests, mail: MailClient, directory: SuiteDirectory
) -> None:
    mailbox = new_mailbox(requests)
    folder = f"shared/{name_of(mailbox)}"
    filter_ = f"(mail={mailbox['primarySmtpAddress']})"
    entry = directory.one(filter_)
    dara = directory.one("(uid=dara)")["dn"][0]
    mail.grant(name_of(mailbox), "INBOX", "dara")
    for number in range(10):
        # Dovecot copies the rights of the parent into a new folder.
        mail.create_folder("ben", f"{folder}/Folder {number}")
    directory.replace(entry["dn"][0], "chamberlainFullAccess", *entry["chamberlainFullAccess"], dara)
    folders = [folder, *(f"{folder}/Folder {number}" for number in range(10))]
    assert all(mail.can_open("dara", each) for each in folders)

    requests.repair(requests.find_drift(mailbox, "additionalPermissions"))

    assert not any("dara" in mail.rights(name_of(mailbox), each) for each in mail.own_folders(name_of(mailbox)))
    assert directory.one(filter_)["chamberlainFullAccess"] == entry["chamberlainFullAccess"]
