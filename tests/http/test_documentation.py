# SPDX-License-Identifier: Apache-2.0
"""The pages of the API: complete, small, and without anything from other hosts."""

from collections.abc import Mapping
from html.parser import HTMLParser

import httpx2
import pytest

from chamberlain.app.routes import ENDPOINTS
from chamberlain.http.documentation import NOUNS, SLUGS
from chamberlain.http.openapi import describe, describe_schemas
from chamberlain.http.problems import TITLES
from tests.http.http_fixture import TEMPLATE, HttpFixture

PATHS = ("/docs", *(f"/docs/{slug}" for slug in SLUGS))
# Transferred with the first page: its files are cached for the others.
FILES = ("/assets/pages.css", "/assets/documentation.js", "/assets/icon.svg", "/favicon.ico")


class Page(HTMLParser):
    """The parts of a page that a browser would run, fetch or follow."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.fetched: list[str] = []
        self.named: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = {name: value or "" for name, value in attrs}
        if tag not in {"meta", "link", "input", "img", "wbr"}:
            self.open.append(tag)
        # A policy without unsafe-inline ignores these.
        assert not [name for name in values if name == "style" or name.startswith("on")]
        assert tag != "style"
        assert tag != "script" or "src" in values
        self.ids += [values["id"]] if "id" in values else []
        self.addresses += [values["href"]] if tag == "a" else []
        self.fetched += [values[name] for name in ("href", "src") if name in values and tag != "a"]
        self.named += [(tag, values["for"])] if "for" in values else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
async def pages(api: httpx2.AsyncClient) -> Mapping[str, Page]:
    return {path: Page((await api.get(path)).text) for path in PATHS}


async def test_it_works(pages: Mapping[str, Page]) -> None:
    found = [id_ for page in pages.values() for id_ in page.ids]

    assert {endpoint.about.id for endpoint in ENDPOINTS} | set(TITLES) <= set(found)
    assert {f"schema-{name}" for name in describe_schemas(ENDPOINTS)} <= set(found)
    for endpoint in ENDPOINTS:
        assert found.count(endpoint.about.id) == 1


async def test_every_link_leads_somewhere(pages: Mapping[str, Page]) -> None:
    others = {"/", "/openapi.json", "/health", "/health/ready"}

    for path, page in pages.items():
        assert len(set(page.ids)) == len(page.ids)
        for address in page.addresses:
            target, _, id_ = address.partition("#")
            assert target in others or not id_ or id_ in pages[target or path].ids, address
        assert {id_ for _, id_ in page.named} <= set(page.ids)


async def test_the_policy_allows_one_script_and_no_other_host(api: httpx2.AsyncClient) -> None:
    for path in PATHS:
        answer = await api.get(path)

        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert set(Page(answer.text).fetched) == set(FILES)
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", FILES)
async def test_files_are_what_they_are_called(api: httpx2.AsyncClient, path: str) -> None:
    answer = await api.get(path)

    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not answer.headers["content-type"].startswith("text/html")


async def test_the_first_load_is_small(api: httpx2.AsyncClient) -> None:
    async def transferred(path: str) -> int:
        async with api.stream("GET", path, headers={"accept-encoding": "gzip"}) as answer:
            return len(b"".join([chunk async for chunk in answer.aiter_raw()]))

    sizes = {path: await transferred(path) for path in (*PATHS, *FILES)}

    assert max(sizes[path] for path in PATHS) + sum(sizes[path] for path in FILES) < 100_000


async def test_the_type_of_a_problem_leads_to_its_explanation(api: httpx2.AsyncClient) -> None:
    problem = (await api.post("/collab/v1/groups/", json={"templateId": TEMPLATE})).json()

    answer = await api.get(problem["type"])

    assert (answer.status_code, answer.headers["location"]) == (303, "/docs/errors#invalidBody")


def test_every_noun_has_operations(http_fixture: HttpFixture) -> None:
    document = describe(ENDPOINTS, http_fixture.http())

    assert len(document["paths"]) > len(NOUNS)
    assert len({noun.slug for noun in NOUNS}) == len(NOUNS)
