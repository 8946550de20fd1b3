# SPDX-License-Identifier: Apache-2.0
"""Settings of a connection: a file, and secrets beside it."""

import os
from pathlib import Path

import pytest

from chamberlain.directory.opensuite.settings import SuiteSettingsInvalid, read_suite, settings_version

URL = "ldaps://ldap.example:636"
LEAST = """\
[ldap]
base = "dc=estate,dc=example"
bind_dn = "cn=chamberlain,dc=estate,dc=example"
password_file = "ldap-password"

[dovecot]
url = "https://mail.example:8080/"
key_file = "doveadm-key"
"""
WHOLE = f"""\
{LEAST}
[people]
base = "ou=people,dc=estate,dc=example"
aliases = ["mailAlternateAddress"]
attributes = {{ companyName = "company", mobilePhone = "" }}

[attributes]
company_name = "company"

[sogo]
memcached = "10.0.0.3"
url = "https://sogo.example"
user = "calendar"
password_file = "calendar-password"

[postfix]
submission = "10.0.0.2:587"

[matrix]
url = "https://matrix.example"
server_name = "estate.example"
token_file = "token"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a tenant with its secrets."""
    for name in ("ldap-password", "doveadm-key", "calendar-password", "token"):
        (tmp_path / name).write_text(f"{name}-secret\n", encoding="utf-8")
    (tmp_path / "empty").write_text("\n", encoding="utf-8")
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "suite.toml").write_text(text, encoding="utf-8")


def test_it_works(folder: Path) -> None:
    write(folder, WHOLE)

    found = read_suite(URL, folder, "suite.toml")

    assert (found.ldap.url, found.ldap.password, found.ldap.starts_tls) == (URL, "ldap-password-secret", False)
    assert (found.mail.url, found.mail.key) == ("https://mail.example:8080", "doveadm-key-secret")
    assert found.calendar.account == ("calendar", "calendar-password-secret")
    assert (found.calendar.memcached, found.submission) == (("10.0.0.3", 11211), ("10.0.0.2", 587))
    assert found.homeserver is not None
    assert (found.homeserver.name, found.homeserver.token, found.homeserver.room_version) == (
        "estate.example",
        "token-secret",
        "11",
    )
    assert found.layout.people.base == "ou=people,dc=estate,dc=example"
    assert found.layout.names.company_name == "company"
    assert found.layout.person["companyName"] == "company"
    assert "mobilePhone" not in found.layout.person


def test_the_least_settings_have_defaults(folder: Path) -> None:
    write(folder, LEAST)

    found = read_suite("ldap://ldap.example:389", folder, "suite.toml")

    assert (found.homeserver, found.calendar.memcached, found.submission) == (None, None, None)
    assert found.ldap.starts_tls
    assert found.layout.groups.base == "ou=groups,dc=estate,dc=example"
    assert found.layout.mailboxes.base == "ou=mailboxes,dc=estate,dc=example"


def test_secrets_are_not_shown(folder: Path) -> None:
    write(folder, WHOLE)

    assert "-secret" not in repr(read_suite(URL, folder, "suite.toml"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("[ldap]", "[ldap", "no TOML"),
        ("bind_dn", "bind_dm", "bind_dm"),
        ('base = "dc=estate,dc=example"\n', "", "base"),
        ('"ldap-password"', '"missing"', "missing"),
        ('"ldap-password"', '"empty"', "empty"),
        ('"ldap-password"', '"../ldap-password"', "password_file"),
        ("https://mail.example:8080/", "mail.example", "mail.example"),
        ("https://mail.example:8080/", "https://user:word@mail.example/", "mail.example"),
        ('memcached = "10.0.0.3"', 'memcached = "10.0.0.3:x"', "10.0.0.3:x"),
        ("companyName", "shoeSize", "shoeSize"),
        ("company_name", "shoe_size", "shoe_size"),
    ],
)
def test_a_mistake_is_named(folder: Path, before: str, after: str, said: str) -> None:
    write(folder, WHOLE.replace(before, after, 1))

    with pytest.raises(SuiteSettingsInvalid) as invalid:
        read_suite(URL, folder, "suite.toml")

    assert said in str(invalid.value)
    assert "-secret" not in str(invalid.value)


def test_a_missing_file_is_named(folder: Path) -> None:
    with pytest.raises(SuiteSettingsInvalid) as invalid:
        read_suite(URL, folder, "suite.toml")

    assert "suite.toml" in str(invalid.value)


def test_a_changed_file_is_another_version(folder: Path) -> None:
    before = settings_version(folder)
    again = settings_version(folder)

    os.utime(folder / "token", ns=(0, 1))

    assert (before == again, settings_version(folder) == before) == (True, False)
    assert settings_version(folder / "missing") is None
