# SPDX-License-Identifier: Apache-2.0
"""The least-privilege report of a running service, over HTTP, at the command line and by the SDK."""

import httpx2

from chamberlain_client import Chamberlain
from tests.services import ADA, ADA_MAIL, API, CLEO_MAIL, TLS, Service, run_command, wait_until

CONFIG, MAIL = f"{API}/admin/Config.ReadWrite.All", f"{API}/mail/App.ReadWrite.All"


def read(service: Service, *, who: str = ADA_MAIL) -> httpx2.Response:
    headers = service.headers(who, f"{CONFIG} {MAIL}")
    return httpx2.get(f"{service.url}/admin/v1/permissions/report/", headers=headers, timeout=30, verify=TLS)


def reports(answer: httpx2.Response) -> list[httpx2.Response]:
    """The answer, once Ada holds both permissions in it and has used one: other tests use only some of them."""
    ada = [each for each in answer.json()["callers"] if each["id"] == ADA]
    complete = [
        each
        for each in ada
        if {CONFIG, MAIL} <= set(each["held"]) and CONFIG in [used["permission"] for used in each["used"]]
    ]
    return [answer] if complete else []


def test_it_works(service: Service) -> None:
    read(service)

    # The service writes its counts every five seconds.
    (answer,) = wait_until(lambda: reports(read(service)), 30)
    with Chamberlain(service.url, lambda: service.token(ADA_MAIL, CONFIG)) as client:
        report = client.permissions.report()
    token = {**service.environment, "CHAMBERLAIN_TOKEN": service.token(ADA_MAIL, CONFIG)}
    shown = run_command("permissions", "--port", str(service.port), environment=token).stdout

    (ada,) = [each for each in answer.json()["callers"] if each["id"] == ADA]
    assert answer.headers["cache-control"] == "no-store"
    assert (ada["kind"], ada["displayName"]) == ("user", "Ada Achterberg")
    assert {CONFIG, MAIL} <= set(ada["held"])
    assert CONFIG in [used["permission"] for used in ada["used"]]
    assert set(ada["held"]) == {used["permission"] for used in ada["used"]} | set(ada["unused"])
    assert {str(each.id) for each in report.callers} >= {ADA}
    assert f"{ADA}\tuser\tAda Achterberg\t{CONFIG}\t" in shown
    assert "Group.ReadWrite.All\ttemplate\t" in shown


def test_it_is_for_administrators(service: Service) -> None:
    refused = read(service, who=CLEO_MAIL)

    assert (refused.status_code, refused.json()["code"]) == (403, "notAdministrator")
