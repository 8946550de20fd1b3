# SPDX-License-Identifier: Apache-2.0
"""The catalog: templates for a user, search, and the latest requests."""

from collections.abc import Iterator
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from chamberlain.console.pages.catalog import LATEST
from tests.chromium import run_chromium
from tests.console.browser import Page
from tests.console.conftest import ConsoleFixture, open_console
from tests.console.objects import add_templates
from tests.console.windows import open_signed_in
from tests.services import (
    ADA,
    ADA_MAIL,
    APPROVED_TEMPLATE,
    DYNAMIC_TEMPLATE,
    GROUP_TEMPLATE,
    TEAM_TEMPLATE,
    ZOE_MAIL,
)

pytestmark = pytest.mark.heavy
SHARED, EQUIPMENT, ROOM = (f"7e000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
MANY = 200
KINDS = ("room", "equipment", "shared", "group", "team")


@pytest.fixture(scope="module")
def console() -> Iterator[ConsoleFixture]:
    """A service of its own, whose other tenant has many templates."""
    with open_console() as found:
        templates: list[dict[str, object]] = [
            {"id": str(uuid4()), "kind": KINDS[number % 5], "name": f"Template {number:03}", "description": "For all"}
            for number in range(MANY)
        ]
        templates[7]["description"] = "Bicycles <b>"
        others = {"id": str(uuid4()), "kind": "group", "name": "For others", "audience": {"users": [ADA]}}
        inactive = {"id": str(uuid4()), "kind": "group", "name": "Not in use", "active": False}
        add_templates(found.service, [*templates, others, inactive])
        yield found


def cards(page: Page) -> list[str]:
    """The templates of the cards, in their order."""
    return [urlsplit(each).path.rpartition("/")[2] for each in page.links if each.startswith("/console/new/")]


def test_it_works(console: ConsoleFixture) -> None:
    page = console.signed_in(ADA_MAIL).get(console.url)

    first = [ROOM, EQUIPMENT, SHARED, GROUP_TEMPLATE, DYNAMIC_TEMPLATE, APPROVED_TEMPLATE, TEAM_TEMPLATE]
    assert cards(page) == first
    assert page.html.count("card-mark") == 1
    assert 'type="search"' not in page.html


def test_many_templates_all_appear_with_a_search(console: ConsoleFixture) -> None:
    browser = console.signed_in(ZOE_MAIL)

    assert len(cards(browser.get(console.url))) == MANY
    assert len(cards(browser.get(f"{console.url}?q=template+19"))) == 12
    found = browser.get(f"{console.url}?q=BICYCLES")
    assert len(cards(found)) == 1
    assert "Bicycles &lt;b&gt;" in found.html
    assert cards(browser.get(f"{console.url}?q=others")) == []
    assert cards(browser.get(f"{console.url}?q=in+use")) == []


def test_the_latest_requests_are_the_own_ones(console: ConsoleFixture) -> None:
    for number in range(LATEST + 1):
        answer = console.service.post_group({"displayName": f"Latest {number}", "templateId": GROUP_TEMPLATE})
        assert answer.status_code == 202

    page = console.signed_in(ADA_MAIL).get(console.url)

    shown = [f"Latest {number}" for number in range(LATEST + 1) if f"Latest {number}" in page.html]
    assert shown == [f"Latest {number}" for number in range(1, LATEST + 1)]
    assert "Latest" not in console.signed_in().get(console.url).html


@pytest.mark.needs("chromium")
def test_the_search_filters_while_the_user_types(console: ConsoleFixture) -> None:
    with run_chromium(console.service.data_dir / "ca.pem") as chromium:
        page = chromium.new_page()
        open_signed_in(console, page, ZOE_MAIL)
        visible = page.locator("[data-card]:visible")
        expect(visible).to_have_count(MANY, timeout=30_000)

        page.get_by_label("Search the catalog").fill("bicycles")
        expect(visible).to_have_count(1)
        expect(page.get_by_role("status")).to_have_text("1 template")
        page.get_by_label("Search the catalog").fill("")
        expect(visible).to_have_count(MANY)
