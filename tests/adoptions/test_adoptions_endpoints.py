# SPDX-License-Identifier: Apache-2.0
"""Adoptions over HTTP: shown, confirmed, followed, and undone."""

from collections.abc import Mapping
from uuid import UUID

import httpx2
import pytest

from chamberlain.adoptions.models import AdoptionFilter, AdoptionRule
from chamberlain.core.errors import Fault, Forbidden, NotPossible
from chamberlain.core.ids import TemplateId
from chamberlain.templates.models import TemplateKind
from tests.adoptions.fake_adoptions import ADOPTION
from tests.http.http_fixture import BASE, HttpFixture

PATH = "/admin/v1/adoptions/"
ONE, UNDO = f"{PATH}{ADOPTION}/", f"{PATH}{ADOPTION}/undo/"
ADMINISTRATOR = {"authorization": "Bearer administrator"}
TEMPLATE = "7e000000-0000-4000-8000-000000000003"
BODY: Mapping[str, object] = {"kind": "room", "templateId": TEMPLATE}
BERN = {
    "id": "00000000-0000-0000-0000-000000000001",
    "displayName": "Room Bern",
    "mail": "bern@rooms.estate.example",
}


async def confirmed(api: httpx2.AsyncClient, **headers: str) -> httpx2.Response:
    shown = await api.post(f"{PATH}?dryRun=true", json=BODY, headers=ADMINISTRATOR)
    body = {**BODY, "digest": shown.json()["digest"]}
    return await api.post(PATH, json=body, headers={**ADMINISTRATOR, **headers})


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await confirmed(api, **{"idempotency-key": "k"})

    assert (answer.status_code, answer.headers["location"]) == (202, f"{BASE}{ONE}")
    assert answer.json() == {
        "id": str(ADOPTION),
        "kind": "room",
        "template": {"id": TEMPLATE, "name": "Room"},
        "filter": {"q": None, "domain": None, "ids": None},
        "state": "running",
        "counts": {"total": 1, "adopted": 0, "refused": 0, "released": 0},
        "createdAt": "2026-11-20T09:30:00.000Z",
        "createdBy": {
            "type": "user",
            "id": "ada00000-0000-4000-8000-000000000001",
            "displayName": "Ada Achterberg",
        },
        "updatedAt": "2026-11-20T09:30:00.000Z",
        "finishedAt": None,
        "refused": [],
    }
    [act] = http_fixture.adoptions.acts
    assert act.idempotency is not None
    assert act.idempotency.key == "k"


async def test_a_preview_shows_who_is_taken_and_who_is_not(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    chosen = {"q": "Room", "domain": "rooms.estate.example", "ids": [str(UUID(int=1))]}

    answer = await api.post(f"{PATH}?dryRun=true", json={**BODY, "filter": chosen}, headers=ADMINISTRATOR)

    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["dryRun"], shown["filter"]) == (True, chosen)
    assert shown["digest"].startswith("sha256:")
    assert shown["counts"] == {"taken": 1, "conflicts": {"alreadyManaged": 1}}
    assert shown["taken"] == [{**BERN, "differences": ["setBooking"]}]
    assert [(one["displayName"], one["code"]) for one in shown["conflicts"]] == [("Room Zürich", "alreadyManaged")]
    rule = AdoptionRule(
        TemplateKind.ROOM,
        TemplateId(UUID(TEMPLATE)),
        AdoptionFilter("Room", "rooms.estate.example", frozenset({UUID(int=1)})),
    )
    assert http_fixture.adoptions.rules == [rule]
    assert http_fixture.adoptions.records == []


async def test_it_is_listed_read_and_undone(api: httpx2.AsyncClient) -> None:
    made = (await confirmed(api)).json()

    listed = (await api.get(PATH, headers=ADMINISTRATOR)).json()
    one = (await api.get(ONE, headers=ADMINISTRATOR)).json()
    undone = await api.post(UNDO, json={"comment": "A slip."}, headers=ADMINISTRATOR)

    assert listed == {"items": [{key: made[key] for key in made if key != "refused"}], "nextCursor": None}
    assert [(each["displayName"], each["mail"], each["code"]) for each in one["refused"]] == [
        ("Room Chur", None, "gone")
    ]
    assert (undone.status_code, undone.json()["state"]) == (202, "undoing")


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({}, "/digest", "missingProperty"),
        ({"digest": "sha256:0"}, "/digest", "invalidText"),
        ({"kind": "guest"}, "/kind", "unknownValue"),
        ({"templateId": None}, "/templateId", "missingProperty"),
        ({"filter": {"q": " "}}, "/filter/q", "invalidText"),
        ({"filter": {"domain": "x"}}, "/filter/domain", "invalidText"),
        ({"filter": {"ids": ["x"]}}, "/filter/ids/0", "malformedId"),
        ({"filter": {"name": "x"}}, "/filter/name", "unknownProperty"),
    ],
)
async def test_it_rejects_what_has_no_form(
    api: httpx2.AsyncClient, change: Mapping[str, object], pointer: str, code: str
) -> None:
    answer = await api.post(PATH, json={**BODY, **change}, headers=ADMINISTRATOR)

    assert answer.status_code == 400
    assert (pointer, code) in {(each["pointer"], each["code"]) for each in answer.json()["errors"]}


async def test_it_rejects_what_was_not_shown(api: httpx2.AsyncClient) -> None:
    answer = await api.post(PATH, json={**BODY, "digest": f"sha256:{64 * '0'}"}, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["code"]) == (409, "previewChanged")


async def test_it_rejects_a_misspelt_dry_run(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.post(f"{PATH}?dryrun=true", json=BODY, headers=ADMINISTRATOR)

    assert (answer.status_code, http_fixture.adoptions.rules) == (400, [])


async def test_it_rejects_what_the_use_case_refuses(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.adoptions.refusal = NotPossible((Fault("/filter", "nothingToAdopt", "None."),))

    answer = await api.post(f"{PATH}?dryRun=true", json=BODY, headers=ADMINISTRATOR)

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "nothingToAdopt")


async def test_it_rejects_who_may_not(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    for method, path in (("POST", PATH), ("GET", PATH), ("GET", ONE), ("POST", UNDO)):
        answer = await api.request(method, path, headers={"authorization": "Bearer powerless"}, json=BODY)
        assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope"), path

    http_fixture.adoptions.refusal = Forbidden("notAdministrator", "Ask one.")
    answer = await api.get(PATH, headers=ADMINISTRATOR)
    assert answer.json()["code"] == "notAdministrator"


async def test_it_rejects_an_adoption_that_is_not_there(api: httpx2.AsyncClient) -> None:
    assert (await api.get(ONE, headers=ADMINISTRATOR)).status_code == 404
    assert (await api.post(UNDO, headers=ADMINISTRATOR)).status_code == 404
