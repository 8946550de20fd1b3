# SPDX-License-Identifier: Apache-2.0
"""Names and addresses of mailboxes."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chamberlain.directory.mailboxes import MailboxOrder
from chamberlain.mailboxes.rules import MailboxNames, address_taken, comparison_form, domain_of, name_taken, names_of
from chamberlain.templates.models import MailboxTemplate
from chamberlain.templates.rules import compile_mailbox_template
from tests.groups.group_values import REQUEST
from tests.mailboxes.mailbox_values import EQUIPMENT, HOUSE, ORDER, ROOM, SHARED

pytestmark = pytest.mark.pure

DOMAIN = "estate.example"


def made(
    order: MailboxOrder, template: MailboxTemplate = SHARED, properties: Mapping[str, str] | None = None
) -> MailboxNames:
    compiled = compile_mailbox_template(template)
    return names_of(order, compiled, request_id=REQUEST, domain=DOMAIN, properties=properties or {}, number=7)


def test_it_works() -> None:
    names = made(replace(ORDER, name="Zürich Süd", alias="Info.Desk"))

    assert names.mail == "zurich-sud@estate.example"
    assert names.alias == "info.desk@estate.example"
    assert names.addresses == ("zurich-sud@estate.example", "info.desk@estate.example")
    assert names.name_key == "zürich süd"


@pytest.mark.parametrize(
    ("rule", "local_part"),
    [
        ("{input}", "info-desk"),
        ("Shared.{input}", "shared.info-desk"),
        ("{user.department} {input}", "sales-info-desk"),
        ("{input}-{metadata.site}{metadata.none}", "info-desk-north"),
        ("{input}{counter:3}", "info-desk007"),
    ],
)
def test_the_rule_makes_the_local_part_only(rule: str, local_part: str) -> None:
    order = replace(ORDER, metadata={"site": "North"})

    names = made(order, replace(SHARED, address_rule=rule), {"department": "Sales"})

    assert names.mail == f"{local_part}@{DOMAIN}"
    assert names.name_key == "info desk"


@pytest.mark.parametrize(("template", "kind"), [(SHARED, "shared"), (ROOM, "room"), (EQUIPMENT, "equipment")])
@pytest.mark.parametrize("name", ["!?", ".-.", "\ue000"])
def test_the_type_and_digits_of_the_request_replace_a_name_without_letters(
    template: MailboxTemplate, kind: str, name: str
) -> None:
    assert made(replace(ORDER, name=name), template).mail == f"{kind}-{REQUEST.hex[-8:]}@{DOMAIN}"


@pytest.mark.parametrize(
    ("rule", "local_part"),
    [
        ("team-{input}", "team-shared-"),
        ("{input}{counter:3}", "shared-"),
        ("{user.department}-{input}", "sales-shared-"),
    ],
)
def test_a_rule_has_the_digits_in_place_of_a_name_without_letters(rule: str, local_part: str) -> None:
    names = made(replace(ORDER, name="!?"), replace(SHARED, address_rule=rule), {"department": "Sales"})

    assert names.local_part is not None
    assert names.local_part.startswith(f"{local_part}{REQUEST.hex[-8:]}")


def test_a_romanized_name_is_cut_after_a_syllable_and_the_rest_of_the_rule_stays() -> None:
    template = replace(ROOM, address_rule="{input}{counter:3}")

    assert made(replace(ORDER, name="京" * 64), template).local_part == "-".join(["jing"] * 12) + "007"


def test_a_latin_name_is_not_cut() -> None:
    assert made(replace(ORDER, name="ß" * 33)).local_part == "s" * 66


def test_an_alias_of_ones_own_address_is_none() -> None:
    names = made(replace(ORDER, alias="INFO-desk"))

    assert (names.alias, names.addresses) == (None, ("info-desk@estate.example",))


@pytest.mark.parametrize("template", [EQUIPMENT, ROOM])
def test_an_alias_that_is_only_kept_is_no_address(template: MailboxTemplate) -> None:
    assert made(replace(ORDER, alias="desk"), template).addresses == ("info-desk@estate.example",)


@pytest.mark.parametrize(
    ("sent", "of_template", "domain"),
    [
        (None, None, "estate.example"),
        ("", None, "estate.example"),
        (None, "rooms.estate.example", "rooms.estate.example"),
        (None, "Rooms.Estate.Example", "rooms.estate.example"),
        ("ESTATE.example", "rooms.estate.example", "estate.example"),
        ("elsewhere.example", None, "elsewhere.example"),
    ],
)
def test_the_domain_is_the_nearest_that_is_named(sent: str | None, of_template: str | None, domain: str) -> None:
    order, template = replace(ORDER, domain=sent), replace(SHARED, domain=of_template)

    assert domain_of(order, template, HOUSE) == domain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Info", "INFO"),
        ("Zürich", "ZU\u0308RICH"),
        ("Straße", "STRASSE"),
        ("ﬁle", "FILE"),
        ("Ⅷ", "viii"),
        ("ΟΔΟΣ", "οδος"),
        ("\uff21", "a"),
        ("\u1e9e", "ss"),
        # A mark that folds to a letter is folded before marks are put in their order.
        ("\u0345\uff9e", "\u03b9\uff9e"),
    ],
)
def test_names_are_the_same_in_any_letter_case_and_any_spelling(one: str, other: str) -> None:
    assert comparison_form(one) == comparison_form(other)


@pytest.mark.parametrize(("one", "other"), [("Info", "Info "), ("resume", "résumé"), ("a b", "ab"), ("l", "1")])
def test_other_names_are_others(one: str, other: str) -> None:
    assert comparison_form(one) != comparison_form(other)


@given(st.text(max_size=20))
@example("\u0345\u03b1\u0301")
def test_the_form_of_a_form_is_itself(name: str) -> None:
    form = comparison_form(name)

    assert comparison_form(form) == form


@given(st.text(max_size=64), st.from_regex(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,64}", fullmatch=True))
def test_every_address_is_one(name: str, alias: str) -> None:
    names = made(replace(ORDER, name=name, alias=alias))

    assert len(set(names.addresses)) == len(names.addresses)
    for address in names.addresses:
        assert address == address.lower()
        assert re.fullmatch(r"[^\s@]+@estate\.example", address)
    assert re.fullmatch(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?", names.local_part or "")


def test_it_says_which_of_the_names_is_taken() -> None:
    names = made(replace(ORDER, alias="desk"))
    mail, alias = names.addresses

    assert name_taken(ORDER).code == "nameTaken"
    assert "Info Desk" in name_taken(ORDER).detail
    assert mail in address_taken(names, frozenset({mail, alias}), reserved=frozenset()).detail
    assert alias in address_taken(names, frozenset({alias}), reserved=frozenset({alias})).detail
    assert address_taken(names, frozenset({alias}), reserved=frozenset({alias})).code == "addressTaken"
