# SPDX-License-Identifier: Apache-2.0
"""The pages about the console are followed in Chromium, button by button as they name them."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from chamberlain.app.console import PERMISSIONS
from chamberlain.console.app import OPEN_PAGES, PAGES
from chamberlain.console.cookies import ADDRESS, BROWSER, LANGUAGE, PENDING, SESSION, THEME
from chamberlain.console.words import read_catalogue
from chamberlain.settings import Settings
from tests.chromium import run_chromium
from tests.docs.pages import REFERENCE, ROOT, labels, named, section
from tests.services import APPROVED_TEMPLATE, CLEO_MAIL, Service

HOW_TO = ROOT / "docs" / "how-to"
REQUEST, APPROVE, SET_UP = (
    HOW_TO / f"{each}.md" for each in ("request-in-the-browser", "approve-in-the-browser", "console")
)
BEN_MAIL, DARA_MAIL = "ben@estate.example", "dara@estate.example"
SHOWN_WITHIN = 30_000
# The button of the embedded identity platform.
ELSEWHERE = {"Sign in"}


@pytest.mark.pure
@pytest.mark.parametrize("page", [REQUEST, APPROVE], ids=lambda page: page.stem)
def test_each_label_is_one_of_the_console(page: Path) -> None:
    words = files("chamberlain.console").joinpath("words", "de.po").read_text(encoding="utf-8")

    assert {*labels(page)} <= {*read_catalogue(words)} | ELSEWHERE


@pytest.mark.heavy
@pytest.mark.needs("chromium")
def test_it_works_to_request_a_room(service: Service) -> None:
    go_on, sign_in, room, name, seats, whiteboard, send, _, ready, *_ = labels(REQUEST)
    (typed_name, typed_seats) = re.findall(r"\*\* with `([^`]+)`", REQUEST.read_text(encoding="utf-8"))

    with run_chromium(service.data_dir / "ca.pem") as browser, browser.new_page(locale="en-GB") as page:
        enter(page, service, CLEO_MAIL, go_on, sign_in)
        page.get_by_role("link", name=room).first.click()
        page.get_by_label(name).first.fill(typed_name)
        page.get_by_label(seats).fill(typed_seats)
        page.get_by_label(whiteboard).check()
        page.get_by_role("button", name=send).click()

        main = page.locator("main[data-page=request]")
        expect(main.get_by_text(ready, exact=True).first).to_be_visible()
        expect(main).to_contain_text("lucerne-3rd-floor@rooms.estate.example")


@pytest.mark.heavy
@pytest.mark.needs("chromium")
def test_it_works_to_decide(service: Service) -> None:
    for name in ("Atlas", "Orion"):
        assert service.post_group({"displayName": name, "templateId": APPROVED_TEMPLATE}, BEN_MAIL).status_code == 202
    go_on, sign_in, *_ = labels(REQUEST)
    _, approvals, approve, comment, reject, *_ = labels(APPROVE)

    with run_chromium(service.data_dir / "ca.pem") as browser, browser.new_page(locale="en-GB") as page:
        enter(page, service, DARA_MAIL, go_on, sign_in)
        page.get_by_role("link", name=approvals).click()
        page.locator("article", has_text="CONF-Atlas").get_by_role("button", name=approve).click()
        expect(page.locator("article", has_text="CONF-Atlas")).to_have_count(0)
        other = page.locator("article", has_text="CONF-Orion")
        other.get_by_label(comment).fill("There is such a team.")
        other.get_by_role("button", name=reject).click()
        expect(page.locator("article", has_text="CONF-Orion")).to_have_count(0)

    answer = service.get("/requests/v1/?state=rejected", BEN_MAIL).json()
    assert "CONF-Orion" in [each["displayName"] for each in answer["items"]]


@pytest.mark.pure
def test_the_reference_lists_every_page() -> None:
    listed = {
        (method, re.sub(r"{\w+}", "{}", path.partition("?")[0]))
        for methods, path in re.findall(r"`([A-Z, ]+) (/[^`]*)`", section(REFERENCE / "console.md", "## Pages"))
        for method in methods.split(", ")
    }
    pages = {(method, path) for method, path, _ in (*PAGES, *OPEN_PAGES)}

    assert listed == {(method, re.sub(r"{\w+}", "{}", path.removeprefix("/console"))) for method, path in pages}


@pytest.mark.pure
def test_the_reference_lists_every_cookie() -> None:
    listed = {each.removeprefix("__Host-console-") for each in named(section(REFERENCE / "console.md", "## Cookies"))}

    assert listed == {ADDRESS, BROWSER, LANGUAGE, PENDING, SESSION, THEME}


@pytest.mark.pure
def test_it_names_the_properties_of_the_client() -> None:
    page, reference = SET_UP.read_text(encoding="utf-8"), (REFERENCE / "console.md").read_text(encoding="utf-8")

    assert all(f"`{each}`" in text for each in PERMISSIONS for text in (page, reference))
    settings = {each.removesuffix("_FILE") for each in re.findall(r"CHAMBERLAIN_[A-Z_]+", page)}
    assert {each.removeprefix("CHAMBERLAIN_").lower() for each in settings} <= {*Settings.model_fields}


def enter(page: Page, service: Service, address: str, go_on: str, sign_in: str) -> None:
    """Sign in, as the page about requests says."""
    page.set_default_timeout(SHOWN_WITHIN)
    expect.set_options(timeout=SHOWN_WITHIN)
    password = json.loads((service.data_dir / "example-users.json").read_text())[address]
    page.goto(f"{service.url}/console/")
    page.get_by_label("Work address").fill(address)
    page.get_by_role("button", name=go_on).click()
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name=sign_in, exact=True).click()
    expect(page.locator("main[data-page=catalog]")).to_be_visible()
