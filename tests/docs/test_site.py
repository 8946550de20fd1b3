# SPDX-License-Identifier: Apache-2.0
"""The documentation builds into a site that works without a network, and a broken link fails the build."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.docs.pages import ROOT, all_pages

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

# A proxy that does not answer: the build may not use the network.
NO_NETWORK = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
PREPARED = ROOT / ".venv-docs" / "bin" / "python"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as a developer builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "dev.py", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | NO_NETWORK, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield chromium
        chromium.close()


def test_it_works_for_every_page(site: Path) -> None:
    pages = {page.relative_to(ROOT).with_suffix(".html") for page in all_pages()}

    assert [page for page in sorted(pages) if not (site / page).exists()] == []


def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"([^\"]+)\"", page.read_text(encoding="utf-8")
        )

        assert [address for address in loaded if "://" in address] == [], page


def test_its_links_lead_somewhere(site: Path) -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    names = {page: set(re.findall(r"\bid=\"([^\"]+)\"", text)) for page, text in texts.items()}
    broken = []
    for page, text in texts.items():
        for target in re.findall(r"<a\b[^>]*\bhref=\"([^\"]+)\"", text):
            name, _, anchor = unquote(unescape(target)).partition("#")
            there = (page.parent / name).resolve() if name else page
            if "://" not in target and (not there.exists() or (anchor and anchor not in names[there])):
                broken.append(f"{page.relative_to(site)}: {target}")

    assert broken == []


@pytest.mark.needs("chromium")
def test_it_is_read_and_searched_without_a_server(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.wait_for_url("**/docs/README.html")

    page.get_by_role("link", name="Concepts").first.click()
    drawn = page.locator(".diagram svg").count()
    page.goto(f"{(site / 'search.html').as_uri()}?q=adoption")
    found = page.locator("#search-results li a").first
    found.wait_for()

    assert drawn == 3
    assert "Concepts" in page.locator("#search-results").inner_text()


def test_a_broken_anchor_fails_the_build(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("conf.py", "site.css"):
        shutil.copy(ROOT / "docs" / name, docs)
    (docs / "README.md").write_text("# Documentation\n\n## Start\n\n- [A page](page.md): a page.\n")
    (docs / "page.md").write_text("# A page\n\n[Nowhere](README.md#nowhere)\n")
    options = ("--fail-on-warning", "--quiet", "--conf-dir", "docs")

    command = [str(PREPARED), "-m", "sphinx", *options, ".", "site"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "nowhere" in done.stderr
