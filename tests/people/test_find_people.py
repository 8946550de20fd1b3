# SPDX-License-Identifier: Apache-2.0
"""People are found while their name is typed, at most 30 times a minute."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import httpx2
import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden, LimitReached, Malformed, TryAgain, Unavailable
from chamberlain.people import store
from chamberlain.people.models import Searches
from chamberlain.people.rules import MOST_FOUND, MOST_SEARCHES, WINDOW
from chamberlain.people.service import PeopleService
from tests.estates import (
    ADA,
    BEN,
    CLEO,
    ESTATE,
    OTHER_HOUSE,
    PREFIX,
    SHARED_MAILBOX,
    ZOE,
    Estate,
    caller_of,
    mail_caller_of,
)
from tests.requests.request_services import administrator, application

PATH = "/directory/v1/people/"
COUNTS = "SELECT user_id, number FROM chamberlain.people_search ORDER BY user_id"
MANY = """
INSERT INTO directory.users (
    tenant_id, id, user_type, account_enabled, properties, display_name, user_principal_name, mail
)
SELECT $1, gen_random_uuid(), 'Member', true, '{}', name, n || '@estate.example', n || '@estate.example'
FROM (SELECT 'zacharias' || n, 'Zacharias ' || n FROM generate_series(10, 25) n) AS many (n, name)
RETURNING 1
"""
ONE = """
INSERT INTO directory.users (tenant_id, id, user_type, account_enabled, properties, display_name, user_principal_name)
VALUES ($1, gen_random_uuid(), 'Member', true, '{}', $2, 'x1@estate.example') RETURNING 1
"""


async def test_it_works(api: httpx2.AsyncClient) -> None:
    answer = await api.get(PATH, params={"q": "be"})

    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.json() == {
        "items": [
            {
                "id": "be000000-0000-4000-8000-000000000002",
                "displayName": "Ben Okafor",
                "mail": "ben@estate.example",
                "department": "Sales",
                "isGuest": False,
            },
            {
                "id": "9e570000-0000-4000-8000-000000000001",
                "displayName": "Gil Hartmann",
                "mail": None,
                "department": None,
                "isGuest": True,
            },
        ],
        "nextCursor": None,
    }


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "invalidParameter"),
        ("?q=", "invalidParameter"),
        ("?q=b", "invalidParameter"),
        ("?q=a%20b%20c", "invalidParameter"),
        ("?q=" + "b" * 257, "invalidParameter"),
        ("?q=be%00n", "invalidParameter"),
        ("?q=ben&q=ada", "invalidParameter"),
        ("?q=ben&limit=50", "unknownParameter"),
    ],
)
async def test_it_needs_two_letters(api: httpx2.AsyncClient, query: str, code: str) -> None:
    answer = await api.get(f"{PATH}{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize(
    ("who", "status", "code"),
    [
        ("ada", 200, None),
        ("mail", 200, None),
        ("administrator", 200, None),
        ("powerless", 403, "insufficientScope"),
        ("automation", 403, "applicationNotSupported"),
        ("mail automation", 403, "applicationNotSupported"),
    ],
)
async def test_the_token_decides(api: httpx2.AsyncClient, who: str, status: int, code: str | None) -> None:
    answer = await api.get(f"{PATH}?q=be", headers={"authorization": f"Bearer {who}"})

    assert (answer.status_code, answer.json().get("code")) == (status, code)


def service(estate: Estate) -> PeopleService:
    return PeopleService(estate.databases.application, estate.authorization(), estate.people, estate.now)


async def names(estate: Estate, caller: Caller, text: str) -> list[str]:
    return [person.display_name for person in await service(estate).find(caller, text)]


async def test_people_of_the_own_tenant_are_found(estate: Estate) -> None:
    assert await names(estate, caller_of(BEN), "ada") == ["Ada Achterberg"]
    assert await names(estate, mail_caller_of(BEN), "gil hart") == ["Gil Hartmann"]
    assert await names(estate, administrator(ADA), "ben@") == ["Ben Okafor"]
    assert await names(estate, caller_of(BEN), "zoe") == []
    assert await names(estate, caller_of(ZOE, OTHER_HOUSE), "zoe") == ["Zoe Adeyemi"]


async def test_ten_people_are_found_and_no_mailbox(estate: Estate) -> None:
    accepted = await estate.ask_mailbox(
        {"name": "Zacharias", "displayName": "Zacharias 05", "templateId": str(SHARED_MAILBOX)}
    )
    await estate.work()
    assert await estate.mailbox(accepted.accepted.request_id)
    await estate.rows(MANY, ESTATE)

    found = await names(estate, caller_of(BEN), "zach")

    assert found == [f"Zacharias {number}" for number in range(10, 10 + MOST_FOUND)]


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("İsmail Çelik", ["İsm", "ismail çel", "ÇELIK"]),
        ("Zoë Ångström", ["zoë", "zoe\u0308", "ZOE\u0308 ÅNG", "A\u030angs"]),
        ("Jose\u0301 Nun\u0303ez", ["josé", "jose\u0301 nuñ"]),
        ("ΝΙΚΟΣ Σοφός", ["ΝΙΚΟΣ", "νικ σοφός"]),
        ("Łukasz Żółć", ["łuk", "ŻÓŁĆ"]),
        ("Олег Ёлкин", ["олег", "ёлк"]),
        ("中村 花子", ["中村", "花子"]),
        ("محمد علي", ["محم", "علي"]),
        ("Seán O'Neill-D'Arcy", ["o'n", "neill", "arcy", "seán o'neill-d'a"]),
        ("100%_sure \\ Thing", ["100%", "100%_s", "thing"]),
    ],
)
async def test_names_are_found_in_every_script_and_letter_case(estate: Estate, name: str, texts: list[str]) -> None:
    await estate.rows(ONE, ESTATE, name)

    assert {text: await names(estate, caller_of(BEN), text) for text in texts} == {text: [name] for text in texts}


@pytest.mark.parametrize("text", ["1__%", "%%", "__", "*", "..", "ada\\", "a' OR 1=1 --", "\U0010ffff\U0010ffff"])
async def test_no_character_is_a_wildcard(estate: Estate, text: str) -> None:
    await estate.rows(ONE, ESTATE, "100% sure")

    answer = (await names(estate, caller_of(BEN), text)) if len(text) > 1 else []

    assert answer == []


async def test_configuration_is_for_administrators_only(estate: Estate) -> None:
    caller = replace(caller_of(BEN), permissions=frozenset({f"{PREFIX}/admin/Config.ReadWrite.All"}))

    with pytest.raises(Forbidden) as refused:
        await service(estate).find(caller, "ada")
    assert refused.value.code == "notAdministrator"


async def test_applications_are_refused(estate: Estate) -> None:
    with pytest.raises(Forbidden) as refused:
        await service(estate).find(application("Mail.Manage.ReadWrite.All"), "ada")

    assert refused.value.code == "applicationNotSupported"
    assert await estate.rows(COUNTS) == []


async def test_a_user_searches_thirty_times_a_minute(estate: Estate) -> None:
    began = estate.moment
    # Other processes count the same searches.
    await asyncio.gather(*[service(estate).find(caller_of(BEN), "ada") for _ in range(MOST_SEARCHES)])
    estate.moment = began + timedelta(seconds=20)

    with pytest.raises(LimitReached) as refused:
        await service(estate).find(caller_of(BEN), "ada")

    assert (refused.value.code, refused.value.limit) == ("rateExceeded", "peopleSearches")
    assert (refused.value.after, refused.value.values) == (timedelta(seconds=40), {"max": MOST_SEARCHES})
    assert await names(estate, caller_of(CLEO), "ada") == ["Ada Achterberg"]
    estate.moment = began + WINDOW
    assert await names(estate, caller_of(BEN), "ada") == ["Ada Achterberg"]
    assert await estate.rows(COUNTS) == [(BEN, 1), (CLEO, 1)]


async def test_refused_searches_do_not_prolong_the_wait(estate: Estate) -> None:
    async with estate.databases.application.transaction(ESTATE) as tx:
        counted = [await store.count(tx, BEN, at=estate.moment) for _ in range(3 * MOST_SEARCHES)]

    assert counted[-1] == Searches(MOST_SEARCHES + 1, estate.moment)


async def test_a_clock_that_was_set_back_blocks_no_user(estate: Estate) -> None:
    async with estate.databases.application.transaction(ESTATE) as tx:
        await store.count(tx, BEN, at=estate.moment + timedelta(days=1))
        searches = await store.count(tx, BEN, at=estate.moment)

    assert searches == Searches(1, estate.moment)


async def test_a_text_without_two_letters_does_not_count(estate: Estate) -> None:
    with pytest.raises(Malformed) as refused:
        await service(estate).find(caller_of(BEN), "a b")

    assert (refused.value.code, refused.value.values) == ("invalidParameter", {"parameter": "q", "min": 2})
    assert await estate.rows(COUNTS) == []


async def test_it_fails_while_the_directory_does_not_answer(estate: Estate) -> None:
    estate.people.error = TryAgain(timedelta(seconds=3), "The directory is away.")

    with pytest.raises(Unavailable) as refused:
        await service(estate).find(caller_of(BEN), "ada")

    assert (refused.value.code, refused.value.after) == ("overloaded", timedelta(seconds=3))


async def test_minutes_that_are_over_are_removed(estate: Estate) -> None:
    await service(estate).find(caller_of(BEN), "ada")
    estate.moment += timedelta(seconds=30)
    await service(estate).find(caller_of(CLEO), "ada")

    removed = []
    for _ in range(2):
        async with estate.databases.worker.across_tenants() as tx:
            removed.append(await store.remove(tx, estate.moment, 10))

    assert removed == [1, 0]
    assert await estate.rows(COUNTS) == [(CLEO, 1)]


async def test_known_users_are_named(estate: Estate) -> None:
    found = await service(estate).names(caller_of(BEN), {ADA, ZOE})

    assert found == {ADA: "Ada Achterberg"}
    assert await service(estate).names(caller_of(BEN), ()) == {}
    assert await estate.rows(COUNTS) == []


async def test_users_are_not_named_while_the_directory_is_away(estate: Estate) -> None:
    estate.people.error = TryAgain(timedelta(seconds=3), "The directory is away.")

    with pytest.raises(Unavailable):
        await service(estate).names(caller_of(BEN), {ADA})
    with pytest.raises(Unavailable):
        await service(estate).labels(caller_of(BEN))
