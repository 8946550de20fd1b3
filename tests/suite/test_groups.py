# SPDX-License-Identifier: Apache-2.0
from uuid import uuid4

from tests.services import BEN, CLEO, DYNAMIC_TEMPLATE, GROUP_TEMPLATE, Service
from tests.suite.mail_client import MailClient
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_requests import DARA, SuiteRequests


def test_it_works_for_mail_to_a_group(requests: SuiteRequests, mail: MailClient) -> None:
    group, subject = requests.group(GROUP_TEMPLATE, "Project", members=[BEN, CLEO]), f"Meeting {uuid4().hex[:8]}"

    mail.receive("vera@outside.example", str(group["mail"]), subject)

    for name in ("ben", "cleo"):
        mail.wait_for(name, subject)
    assert all(subject not in str(message["Subject"]) for message in mail.messages("dara"))


def test_it_is_found_by_the_id_of_its_request(requests: SuiteRequests, suite_service: Service) -> None:
    group = requests.group(GROUP_TEMPLATE, "Project", owners=[DARA], members=[BEN])

    [found] = suite_service.find_group(group["requestId"])
    owners = suite_service.graph(f"/groups/{group['id']}/owners").json()["value"]
    members = suite_service.graph(f"/groups/{group['id']}/members").json()["value"]

    assert found["id"] == group["id"]
    assert DARA in {owner["id"] for owner in owners}
    assert BEN in {member["id"] for member in members}


def test_members_of_a_dynamic_group_follow_its_rule(
    requests: SuiteRequests, mail: MailClient, directory: SuiteDirectory
) -> None:
    group, subject = requests.group(DYNAMIC_TEMPLATE, "Sales"), f"Figures {uuid4().hex[:8]}"
    dara = directory.one("(uid=dara)")
    directory.replace(dara["dn"][0], "departmentNumber", "Sales")
    try:
        mail.receive("vera@outside.example", str(group["mail"]), subject)
        for name in ("ben", "cleo", "dara"):
            mail.wait_for(name, subject)
    finally:
        directory.replace(dara["dn"][0], "departmentNumber", *dara["departmentNumber"])
