# SPDX-License-Identifier: Apache-2.0
from uuid import uuid4

from deploy.suite.folder import Suite
from tests.services import BEN, GROUP_TEMPLATE, TEAM_TEMPLATE, wait_until
from tests.suite.mail_client import MailClient
from tests.suite.matrix_client import MatrixClient
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_requests import ADMINISTER, DARA, SHARED, WITHIN, Json, SuiteRequests


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


def test_changes_and_deletions_are_found_in_one_run(requests: SuiteRequests, directory: SuiteDirectory) -> None:
    """Without a check of all objects."""
    requests.read_changes()
    changed, deleted = (requests.mailbox(SHARED, "Desk", department="Sales") for _ in range(2))
    group = requests.group(GROUP_TEMPLATE, "Project", members=[BEN])
    path = f"/admin/collab/v1/manage/groups/{group['id']}/"
    assert requests.send("GET", path, scope=ADMINISTER).status_code == 200
    [name, unwanted] = [directory.one(f"(mail={each['primarySmtpAddress']})")["dn"][0] for each in (changed, deleted)]

    directory.replace(name, "departmentNumber", "Elsewhere")
    directory.delete(unwanted)
    directory.delete(directory.one(f"(entryUUID={group['id']})")["dn"][0])
    # Changes in the first minute are taken for the creation.
    requests.execute("UPDATE chamberlain.request SET finished_at = finished_at - interval '2 minutes'")
    requests.read_changes()

    requests.wait_for_finding(changed, "department")
    requests.wait_for_finding(deleted, "exists")
    wait_until(lambda: requests.send("GET", path, scope=ADMINISTER).status_code == 404, WITHIN)


def test_a_removed_owner_is_restored(requests: SuiteRequests, directory: SuiteDirectory) -> None:
    group = requests.group(GROUP_TEMPLATE, "Project", owners=[DARA], members=[BEN])
    filter_ = f"(entryUUID={group['id']})"
    entry = directory.one(filter_)
    dara = directory.one("(uid=dara)")["dn"][0]

    directory.replace(entry["dn"][0], "owner", *(each for each in entry["owner"] if each != dara))
    requests.repair(requests.find_drift(group, "owners"))

    assert set(directory.one(filter_)["owner"]) == set(entry["owner"])


def test_a_removed_channel_is_restored(suite: Suite, requests: SuiteRequests, directory: SuiteDirectory) -> None:
    team = requests.group(TEAM_TEMPLATE, "Crew", members=[BEN])
    space = directory.one(f"(entryUUID={team['id']})")["chamberlainRoom"][0]
    ada, ben = MatrixClient.sign_in(suite, "ada"), MatrixClient.sign_in(suite, "ben")
    before = ben.hierarchy(space)
    [planning] = [room for room, name in before.items() if name == "Planning"]

    assert ada.call("PUT", f"/v3/rooms/{space}/state/m.space.child/{planning}", {}).status_code == 200
    assert planning not in ben.hierarchy(space)
    requests.repair(requests.find_drift(team, "channels"))

    assert ben.hierarchy(space) == before


def test_an_existing_mailbox_is_adopted(requests: SuiteRequests, directory: SuiteDirectory, mail: MailClient) -> None:
    name = f"old-{uuid4().hex[:8]}"
    dn, address, folder = f"uid={name},ou=mailboxes,{directory.suite.base}", f"{name}@estate.example", f"shared/{name}"
    directory.add(
        dn,
        {
            "objectClass": ("inetOrgPerson", "chamberlainMailbox"),
            "uid": name,
            "cn": name,
            "sn": name,
            "displayName": name,
            "mail": address,
            "chamberlainAddress": address,
            "chamberlainType": "shared",
            "chamberlainFullAccess": directory.one("(uid=cleo)")["dn"][0],
            "departmentNumber": "Sales",
        },
    )
    mail.grant(name, "INBOX", "cleo")
    subject = f"Before {uuid4().hex[:8]}"
    mail.receive("vera@outside.example", address, subject)

    rule = {"kind": "shared", "templateId": SHARED, "filter": {"q": name}}
    shown = requests.administer("POST", "/admin/v1/adoptions/?dryRun=true", rule)
    requests.administer("POST", "/admin/v1/adoptions/", {**rule, "digest": shown["digest"]})

    def listed() -> list[Json]:
        items: list[Json] = requests.send("GET", f"/mail/v1/mailboxes/?type=shared&q={name}").json()["items"]
        return items

    [adopted] = wait_until(listed, WITHIN)
    assert adopted["primarySmtpAddress"] == address
    assert "chamberlainRequestId" in directory.one(f"(uid={name})")
    # It keeps its mail and its users, and changes by hand are repaired from now on.
    mail.wait_for("cleo", subject, folder)
    directory.replace(dn, "departmentNumber", "Elsewhere")
    requests.repair(requests.find_drift(adopted, "department"))
    assert directory.one(f"(uid={name})")["departmentNumber"] == ["Sales"]
    assert mail.can_open("cleo", folder)
    assert not mail.can_open("ben", folder)
