# SPDX-License-Identifier: Apache-2.0
from uuid import uuid4

from tests.services import BEN, wait_until
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_requests import SHARED, WITHIN, SuiteRequests


def test_it_works_for_a_change_by_hand(requests: SuiteRequests, directory: SuiteDirectory) -> None:
    mailbox = requests.mailbox(SHARED, "Desk", permissions={BEN: "FullAccess"}, department="Sales")
    filter_ = f"(mail={mailbox['primarySmtpAddress']})"
    dn = directory.one(filter_)["dn"][0]

    directory.replace(dn, "departmentNumber", "Elsewhere")
    finding = requests.find_drift(mailbox, "department")
    requests.repair(finding)

    assert directory.one(filter_)["departmentNumber"] == ["Sales"]


def test_a_renamed_entry_is_found_by_its_mark(requests: SuiteRequests, directory: SuiteDirectory) -> None:
    mailbox = requests.mailbox(SHARED, "Desk", permissions={BEN: "FullAccess"}, department="Sales")
    filter_ = f"(mail={mailbox['primarySmtpAddress']})"

    directory.rename(directory.one(filter_)["dn"][0], f"uid=renamed-{uuid4().hex[:8]}")
    directory.replace(directory.one(filter_)["dn"][0], "departmentNumber", "Elsewhere")
    requests.repair(requests.find_drift(mailbox, "department"))

    assert directory.one(filter_)["departmentNumber"] == ["Sales"]


def test_an_existing_mailbox_is_adopted(requests: SuiteRequests, directory: SuiteDirectory) -> None:
    name = f"old-{uuid4().hex[:8]}"
    directory.add(
        f"uid={name},ou=mailboxes,{directory.suite.base}",
        {
            "objectClass": ("inetOrgPerson", "chamberlainMailbox"),
            "uid": name,
            "cn": name,
            "sn": name,
            "displayName": name,
            "mail": f"{name}@estate.example",
            "chamberlainAddress": f"{name}@estate.example",
            "chamberlainType": "shared",
        },
    )

    rule = {"kind": "shared", "templateId": SHARED, "filter": {"q": name}}
    shown = requests.administer("POST", "/admin/v1/adoptions/?dryRun=true", rule)
    requests.administer("POST", "/admin/v1/adoptions/", {**rule, "digest": shown["digest"]})

    def listed() -> list[str]:
        items = requests.send("GET", f"/mail/v1/mailboxes/?type=shared&q={name}").json()["items"]
        return [item["primarySmtpAddress"] for item in items]

    assert wait_until(listed, WITHIN) == [f"{name}@estate.example"]
    assert "chamberlainRequestId" in directory.one(f"(uid={name})")
