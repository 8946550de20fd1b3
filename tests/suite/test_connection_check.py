# SPDX-License-Identifier: Apache-2.0
"""Each setting of the servers is broken once, and the check names it with the lines to add."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from deploy.suite.folder import Suite
from deploy.suite.processes import end
from deploy.suite.servers import Starter
from tests.services import wait_until
from tests.suite.suite_requests import ADMINISTER, ROOM, WITHIN, Json, SuiteRequests


@dataclass(frozen=True, slots=True)
class Breakage:
    """A change of one file, the servers to restart, and a line that the check prints."""

    item: str
    file: str
    pattern: str
    replacement: str
    parts: tuple[str, ...]
    line: str


_SLAPD, _DOVECOT = ("slapd",), ("dovecot",)
BREAKAGES = (
    Breakage(
        "schema",
        "slapd/chamberlain.schema",
        "NAME 'chamberlainGroup'",
        "NAME 'chamberlainFormerGroup'",
        _SLAPD,
        "include /etc/ldap/schema/chamberlain.schema",
    ),
    Breakage(
        "index",
        "slapd/slapd.conf",
        r"\nindex chamberlainRequestId eq",
        "",
        _SLAPD,
        "index chamberlainRequestId eq",
    ),
    Breakage("unique", "slapd/slapd.conf", r"\noverlay unique(\nunique_uri .*)+", "", _SLAPD, "overlay unique"),
    Breakage("refint", "slapd/slapd.conf", r"\noverlay refint(\nrefint_.*)+", "", _SLAPD, "overlay refint"),
    Breakage("dynlist", "slapd/slapd.conf", r"\noverlay dynlist\ndynlist-.*", "", _SLAPD, "overlay dynlist"),
    Breakage(
        "syncprov",
        "slapd/slapd.conf",
        r"\nsyncprov-sessionlog .*",
        "",
        _SLAPD,
        "syncprov-sessionlog 100000",
    ),
    Breakage(
        "acl_defaults_from_inbox",
        "dovecot/dovecot.conf",
        r"\n +acl_defaults_from_inbox = yes",
        "",
        _DOVECOT,
        "acl_defaults_from_inbox = yes",
    ),
    Breakage(
        "shared namespace",
        "dovecot/dovecot.conf",
        r"\nnamespace \{\n  type = shared(\n  .*)+\n\}",
        "",
        _DOVECOT,
        "prefix = shared/%%u/",
    ),
    Breakage(
        "sieve",
        "dovecot/dovecot.conf",
        "mail_plugins = acl quota sieve",
        "mail_plugins = acl quota",
        _DOVECOT,
        "mail_plugins = $mail_plugins sieve",
    ),
    Breakage(
        "reject_sender_login_mismatch",
        "postfix/etc/master.cf",
        r"\n +-o smtpd_sender_restrictions=reject_sender_login_mismatch",
        "",
        ("postfix",),
        "-o smtpd_sender_restrictions=reject_sender_login_mismatch",
    ),
    Breakage(
        "places source",
        "sogo/sogo.conf",
        r"id = places;\n +canAuthenticate = YES;",
        "id = places;\n      canAuthenticate = NO;",
        # memcached remembers places for five minutes.
        ("memcached", "sogo"),
        "canAuthenticate = YES",
    ),
    Breakage(
        "application service",
        "synapse/homeserver.yaml",
        r"\napp_service_config_files:\n.*",
        "",
        ("synapse",),
        "app_service_config_files:",
    ),
)

# Checks the connection of the tenant, and returns it.
Check = Callable[[], Json]


@pytest.fixture(scope="module")
def check(request: pytest.FixtureRequest) -> Check:
    """The check, with a room to look at."""
    requests = SuiteRequests(request.getfixturevalue("suite_service"), request.getfixturevalue("suite"))
    requests.mailbox(ROOM, "Checked", capacity=1)
    [connection] = requests.administer("GET", "/admin/v1/connections/")["items"]
    path = f"/admin/v1/connections/{connection['id']}/check/"

    def checked() -> Json:
        # 503 while a server starts again.
        answers: list[Json] = []

        def answered() -> bool:
            answer = requests.send("POST", path, {}, scope=ADMINISTER)
            answers.append(answer.json())
            return answer.status_code == 200

        wait_until(answered, WITHIN)
        return answers[-1]

    return checked


@contextmanager
def broken(suite: Suite, starter: Starter, breakage: Breakage) -> Iterator[None]:
    """Change a file, and restart its servers. The end of the block undoes it."""
    file = suite.folder / breakage.file
    before = file.read_text(encoding="utf-8")
    changed = re.sub(breakage.pattern, breakage.replacement, before)
    assert changed != before
    try:
        # The owner and the mode of the file stay.
        file.write_text(changed, encoding="utf-8")
        restart(suite, starter, breakage.parts)
        yield
    finally:
        file.write_text(before, encoding="utf-8")
        restart(suite, starter, breakage.parts)


def restart(suite: Suite, starter: Starter, parts: tuple[str, ...]) -> None:
    end(suite, parts)
    for part in parts:
        starter.one(part)


def test_it_works_with_all_settings(check: Check) -> None:
    found = check()

    assert (found["state"], found["stateReason"]) == ("ready", None)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.item)
def test_it_names_a_missing_setting_with_the_line_to_add(
    suite: Suite, starter: Starter, check: Check, breakage: Breakage
) -> None:
    with broken(suite, starter, breakage):
        found = check()
    after = check()

    assert found["state"] == "broken"
    assert found["stateReason"]["code"] == "serverSettingsMissing"
    assert f"{breakage.item} (in " in found["stateReason"]["detail"]
    assert breakage.line in found["stateReason"]["detail"]
    assert after["state"] == "ready"
