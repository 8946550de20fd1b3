# SPDX-License-Identifier: Apache-2.0
"""Which guests are against which rules, and the sentence that says why."""

from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.core.ids import UserId
from chamberlain.directory.subjects import AddedBy, Guest, GuestRules, PresentGuests, Sharing, is_against

pytestmark = pytest.mark.pure

GIL = Guest(UserId(UUID("9e570000-0000-4000-8000-000000000001")), "gil@partner.example", "Gil Hartmann")
ANYBODY = GuestRules(
    allowed=True, added_by=AddedBy.MEMBERS, allowed_domains=(), blocked_domains=(), sharing=Sharing.ANYONE
)


def test_it_works() -> None:
    assert is_against(GIL, ANYBODY) is None
    nobody = replace(ANYBODY, allowed=False)
    assert is_against(GIL, nobody) == "Gil Hartmann is a guest, and guests are not allowed here."


@pytest.mark.parametrize(
    ("mail", "allowed", "blocked", "reason"),
    [
        ("gil@partner.example", ("partner.example",), (), None),
        ("Gil@PARTNER.Example", ("partner.example",), (), None),
        ("gil@partner.example", ("Partner.Example.",), (), None),
        ("gil@partner.example", (" partner.example ", "other.example"), (), None),
        ('"a@b"@partner.example', ("partner.example",), (), None),
        ("gil@partner.example", ("other.example",), (), "is of partner.example, and only guests of other.example"),
        ("gil@x.partner.example", ("partner.example",), (), "is of x.partner.example, and only guests of"),
        ("gil@notpartner.example", ("partner.example",), (), "only guests of"),
        (None, ("partner.example",), (), "has no address, and only guests of partner.example"),
        ("gil@partner.example", (), ("partner.example",), "is of partner.example, and guests of that domain are not"),
        ("gil@PARTNER.example", (), ("partner.EXAMPLE",), "guests of that domain are not"),
        ("gil@x.partner.example", (), ("partner.example",), None),
        (None, (), ("partner.example",), None),
        ("gil@partner.example", ("partner.example",), ("partner.example",), "guests of that domain are not"),
        ("gil@partner.example", ("a.example", "b.example"), (), "only guests of a.example, b.example are allowed"),
    ],
)
def test_it_compares_whole_domains(
    mail: str | None, allowed: tuple[str, ...], blocked: tuple[str, ...], reason: str | None
) -> None:
    rules = replace(ANYBODY, allowed_domains=allowed, blocked_domains=blocked)

    found = is_against(replace(GIL, mail=mail), rules)

    if reason is None:
        assert found is None
    else:
        assert found is not None
        assert found.startswith("Gil Hartmann ")
        assert found.endswith(".")
        assert reason in found


def test_it_does_not_look_at_who_may_add_guests_nor_at_sharing() -> None:
    strict = replace(ANYBODY, added_by=AddedBy.ADMINISTRATORS, sharing=Sharing.DISABLED)

    assert is_against(GIL, strict) is None


def test_the_api_shows_these_words() -> None:
    assert [str(each) for each in AddedBy] == ["members", "owners", "administrators"]
    assert [str(each) for each in Sharing] == ["disabled", "existingGuests", "newAndExistingGuests", "anyone"]
    assert [str(each) for each in PresentGuests] == ["keep", "remove"]
