# SPDX-License-Identifier: Apache-2.0
"""People by typed text, and the labels of a tenant."""

import pytest

from chamberlain.core.ids import UserId
from chamberlain.directory.capabilities import Ability
from chamberlain.directory.models import Label
from tests.directory.conftest import Adapter
from tests.directory.mailbox_work import plain
from tests.directory.sample_directory import (
    ADA,
    BEN,
    CLEO,
    CONFIDENTIAL,
    GIL,
    HANA,
    INTERNAL,
    OTHER_TENANT,
    TENANT,
    ZOE,
)


async def found(adapter: Adapter, text: str, limit: int = 10) -> list[UserId]:
    return [person.id for person in await adapter.people.find(TENANT, text, limit)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ad", [ADA]),
        ("ADA", [ADA]),
        (" acht ", [ADA]),
        ("ada acht", [ADA]),
        ("acht ada", [ADA]),
        ("ada oka", []),
        # A mail address, and a user name of a user without one.
        ("Ada@est", [ADA]),
        ("ben@estate", [BEN]),
        ("partner", [GIL]),
        ("ha", [GIL, HANA]),
        # Domains and the middle of words match nothing.
        ("estate", []),
        ("chter", []),
        # At least two letters.
        ("a", []),
        ("a a", []),
        ("ada a", [ADA]),
        ("ada b", []),
        ("", []),
        ("%%", []),
        ("ad\x00", []),
        ("zoe", []),
    ],
)
async def test_it_finds_people_by_the_beginning_of_words(adapter: Adapter, text: str, expected: list[UserId]) -> None:
    if text == "partner" and not adapter.has_inner_words:
        # Graph searches the beginning of user names only.
        expected = []

    assert await found(adapter, text) == expected


async def test_it_shows_people_with_their_type(adapter: Adapter) -> None:
    [guest, other] = await adapter.people.find(TENANT, "ha", 10)
    [ada] = await adapter.people.find(TENANT, "ada", 10)

    assert (guest.is_guest, other.is_guest, ada.is_guest) == (True, True, False)
    assert (ada.display_name, ada.mail) == ("Ada Achterberg", "Ada@estate.example")
    assert ada.properties["department"] == "Sales"
    assert [each.id for each in await adapter.people.find(OTHER_TENANT, "zoe", 10)] == [ZOE]


async def test_the_order_is_that_of_the_names_and_the_limit_holds(adapter: Adapter) -> None:
    assert await found(adapter, "ha", limit=1) == [GIL]
    assert await found(adapter, "cl", limit=1) == [CLEO]
    assert await found(adapter, "ha", limit=0) == []


@pytest.mark.abilities(Ability.MAILBOXES)
async def test_mailboxes_are_no_people(adapter: Adapter) -> None:
    work = plain()
    await adapter.directory.ensure_mailboxes([work])

    assert await found(adapter, work.wanted.display_name) == []
    assert await found(adapter, work.wanted.mail) == []


async def test_it_lists_labels_by_name(adapter: Adapter) -> None:
    shown = await adapter.people.labels(TENANT)

    labels = [Label(CONFIDENTIAL, "Confidential"), Label(INTERNAL, "Internal")]
    assert list(shown) == (labels if adapter.can(Ability.LABELS) else [])
