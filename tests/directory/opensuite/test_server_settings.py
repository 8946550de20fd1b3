# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from chamberlain.directory.opensuite.server_settings import (
    ConfigurationEntry,
    defined_names,
    find_database,
    has_shared_namespace,
    inherits_from_inbox,
    joined,
    parse_dovecot,
    runs_sieve,
)

pytestmark = pytest.mark.pure

SUITE = Path(__file__).parents[3] / "deploy" / "suite"
DATABASE = ConfigurationEntry(
    "olcDatabase={2}mdb,cn=config",
    {
        "olcsuffix": ["dc=estate,dc=example"],
        "olcdbindex": ["objectClass eq", "cn,mail eq,sub", "chamberlainRequestId eq", "sn sub"],
    },
)
UNIQUE = ConfigurationEntry(
    "olcOverlay={0}unique,olcDatabase={2}mdb,cn=config",
    {
        "olcoverlay": ["{0}unique"],
        "olcuniqueuri": ["{0}ldap:///dc=estate,dc=example?chamberlainRequestId?sub", "ldap:///?chamberlainAddress?sub"],
    },
)
ELSEWHERE = ConfigurationEntry("olcOverlay={0}refint,olcDatabase={1}mdb,cn=config", {"olcoverlay": ["{0}refint"]})


def test_it_works_for_a_database() -> None:
    found = find_database([DATABASE, UNIQUE, ELSEWHERE], "dc=Estate, dc=example")

    assert found is not None
    assert found.indexed == {"objectclass", "cn", "mail", "chamberlainrequestid"}
    assert set(found.overlays) == {"unique"}
    assert found.words("unique", "olcUniqueURI") >= {"chamberlainrequestid", "chamberlainaddress"}
    assert found.words("refint", "olcRefintAttribute") == frozenset()


@pytest.mark.parametrize(
    ("entries", "base"),
    [
        pytest.param([], "dc=estate,dc=example", id="nothing to read"),
        pytest.param([DATABASE], "dc=other,dc=example", id="another root"),
    ],
)
def test_an_unknown_database_is_none(entries: list[ConfigurationEntry], base: str) -> None:
    assert find_database(entries, base) is None


@pytest.mark.parametrize(
    ("definition", "names"),
    [
        pytest.param("( 1.2 NAME 'chamberlainMailbox' SUP top AUXILIARY )", {"chamberlainmailbox"}, id="one"),
        pytest.param("( 1.2 NAME ( 'co' 'friendlyCountryName' ) )", {"co", "friendlycountryname"}, id="two"),
        pytest.param("( 1.2 SUP top )", set(), id="none"),
    ],
)
def test_it_reads_names_of_definitions(definition: str, names: set[str]) -> None:
    assert defined_names([definition]) == names


def test_it_works_for_the_configuration_of_the_suite() -> None:
    dovecot, included = parse_dovecot((SUITE / "dovecot" / "dovecot.conf").read_text(encoding="utf-8"))

    assert included == ("doveadm-key.conf",)
    assert has_shared_namespace(dovecot)
    assert inherits_from_inbox(dovecot)
    assert runs_sieve(dovecot)


@pytest.mark.parametrize(
    ("text", "is_met"),
    [
        pytest.param("mail_plugins = acl\nplugin {\n  acl_defaults_from_inbox = yes\n}\n", True, id="set"),
        pytest.param("mail_plugins = acl\nplugin {\n  acl_defaults_from_inbox = no\n}\n", False, id="no"),
        pytest.param("mail_plugins = acl\n# acl_defaults_from_inbox = yes\n", False, id="a comment"),
        pytest.param("plugin {\n  acl_defaults_from_inbox = yes\n}\n", False, id="without the plugin"),
    ],
)
def test_it_reads_the_default_of_rights(text: str, *, is_met: bool) -> None:
    assert inherits_from_inbox(parse_dovecot(text)[0]) is is_met


def test_a_later_file_replaces_a_setting() -> None:
    first, _ = parse_dovecot("mail_plugins = quota\n")
    second, _ = parse_dovecot("mail_plugins = acl quota\nplugin {\n  acl_defaults_from_inbox = yes\n}\n")

    assert inherits_from_inbox(joined([first, second]))
