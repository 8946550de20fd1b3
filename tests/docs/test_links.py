# SPDX-License-Identifier: Apache-2.0
"""Links between pages lead somewhere, and the index has each page."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, all_pages

pytestmark = pytest.mark.pure

LINK = re.compile(r"\]\(([^)\s]+)\)")
INDEX = ROOT / "docs" / "README.md"
DECISIONS = ROOT / "docs" / "decisions"


def without_code(page: Path) -> str:
    """The text of a page without its blocks of code, whose lines may look like headings and links."""
    return re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> Iterator[str]:
    """The names of the headings of a page, as links write them."""
    used: Counter[str] = Counter()
    for heading in re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE):
        name = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        yield f"{name}-{used[name]}" if used[name] else name
        used[name] += 1


def local_links(page: Path) -> Iterator[tuple[Path, str]]:
    """The files that a page links to, each with its anchor."""
    for target in LINK.findall(without_code(page)):
        if "://" not in target and not target.startswith("mailto:"):
            name, _, anchor = target.partition("#")
            yield (page.parent / name).resolve() if name else page, anchor


def test_it_works_for_every_page() -> None:
    broken = []
    for page in all_pages():
        for there, anchor in local_links(page):
            if not there.exists() or (anchor and anchor not in anchors(there)):
                broken.append(f"{page.relative_to(ROOT)}: {there}#{anchor}")

    assert broken == []


def test_each_page_has_one_line_in_the_index() -> None:
    lines = Counter(
        there
        for line in re.findall(r"^- .+$", INDEX.read_text(encoding="utf-8"), re.MULTILINE)
        for there in [(INDEX.parent / LINK.findall(line)[0]).resolve()]
    )

    # The folder of decisions has a line; they have none.
    expected = {page for page in all_pages() if page.parent != DECISIONS} | {DECISIONS / "README.md"}
    assert expected - {INDEX} == set(lines)
    assert [page for page, count in lines.items() if count > 1] == []


def test_the_first_page_leads_to_the_index() -> None:
    assert INDEX in {there for there, _ in local_links(ROOT / "README.md")}
