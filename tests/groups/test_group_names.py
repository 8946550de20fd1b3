# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from chamberlain.directory.models import PeopleAnswer
from chamberlain.groups.models import GroupNames, GroupOrder, Numbers
from chamberlain.groups.rules import address_taken, free_addresses, names_of, with_second_address
from chamberlain.templates.rules import compile_group_template
from tests.groups.group_values import ORDER, REQUEST, TEMPLATE

pytestmark = pytest.mark.pure


def names(
    order: GroupOrder, *, display_name: str = "{input}", nickname: str | None = None, numbers: Numbers | None = None
) -> GroupNames:
    template = replace(TEMPLATE, display_name_rule=display_name, mail_nickname_rule=nickname)
    best = names_of(
        order,
        compile_group_template(template),
        request_id=REQUEST,
        domain="estate.example",
        properties={"department": "Sales"},
        numbers=numbers or Numbers(),
    )
    return with_second_address(best, template, REQUEST)


def mails(made: GroupNames) -> list[str]:
    return [address.mail for address in made.addresses]


def test_it_works() -> None:
    made = names(ORDER)

    assert made.display_name == "Apollo"
    assert mails(made) == ["apollo@estate.example", "apollo-0d9c1b7e@estate.example"]


def test_it_makes_the_address_from_the_whole_display_name() -> None:
    made = names(ORDER, display_name="CONF {input} {user.department}")

    assert made.display_name == "CONF Apollo Sales"
    assert mails(made)[0] == "conf-apollo-sales@estate.example"


def test_it_makes_the_address_by_its_own_rule_from_the_name_as_sent() -> None:
    made = names(ORDER, display_name="CONF-{input}", nickname="c.{input}")

    assert made.display_name == "CONF-Apollo"
    assert mails(made) == ["c.apollo@estate.example"]


def test_it_counts_for_each_rule() -> None:
    numbers = Numbers(display_name=3, mail_nickname=11)

    made = names(ORDER, display_name="{input} {counter:2}", nickname="{input}{counter:4}", numbers=numbers)

    assert made.display_name == "Apollo 03"
    assert mails(made) == ["apollo0011@estate.example"]


@pytest.mark.parametrize(
    ("display_name", "nickname", "mail"),
    [
        ("{input}", None, "group-5c1f4f0e"),
        # Something of the whole display name is left.
        ("CONF {input}", None, "conf"),
        ("CONF {input}", "c.{input}", "c.group-5c1f4f0e"),
    ],
)
def test_kind_and_digits_of_the_request_replace_a_name_without_letters(
    display_name: str, nickname: str | None, mail: str
) -> None:
    made = names(replace(ORDER, display_name="!!!"), display_name=display_name, nickname=nickname)

    assert mails(made)[0] == f"{mail.replace('5c1f4f0e', REQUEST.hex[-8:])}@estate.example"


def test_a_romanized_name_is_cut_after_a_syllable() -> None:
    first, second = mails(names(replace(ORDER, display_name="京" * 20)))

    assert first == "-".join(["jing"] * 13) + "@estate.example"
    assert second == "-".join(["jing"] * 11) + "-0d9c1b7e@estate.example"


@pytest.mark.parametrize(
    ("taken", "free"),
    [
        (set(), ["apollo@estate.example", "apollo-0d9c1b7e@estate.example"]),
        ({"apollo@estate.example"}, ["apollo-0d9c1b7e@estate.example"]),
        ({"apollo@estate.example", "apollo-0d9c1b7e@estate.example"}, []),
    ],
)
def test_it_leaves_out_addresses_that_are_taken(taken: set[str], free: list[str]) -> None:
    answer = PeopleAnswer(taken_addresses=frozenset(taken))

    assert [address.mail for address in free_addresses(names(ORDER), answer)] == free


def test_it_rejects_when_every_address_is_taken() -> None:
    refusal = address_taken(names(ORDER), is_reserved=True)

    assert refusal.code == "addressTaken"
    assert "apollo@estate.example" in refusal.detail


@pytest.mark.parametrize("is_reserved", [True, False])
def test_a_name_without_a_free_address_is_a_conflict(*, is_reserved: bool) -> None:
    conflict = address_taken(names(ORDER), is_reserved=is_reserved)

    assert conflict.code == "addressTaken"
    assert "apollo@estate.example" in conflict.detail
