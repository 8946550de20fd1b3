# SPDX-License-Identifier: Apache-2.0
"""Decisions are numbered without gaps, say the same things, and name what superseded them."""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))


def test_it_works_for_every_number() -> None:
    numbers = [int(page.name[:4]) for page in PAGES]

    assert numbers == list(range(1, len(PAGES) + 1))
    assert len(PAGES) >= 9


def test_each_has_its_number_its_state_and_its_parts() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")

        assert text.startswith(f"# {int(page.name[:4])}. "), page.name
        assert re.search(r"^Accepted \w+ \d{4}\. Superseded by: (none|\d+)\.$", text, re.MULTILINE), page.name
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert headings[:2] == ["Context", "Decision"], page.name
        assert headings[-1] == "Consequences", page.name


def test_each_refers_to_pages_that_exist() -> None:
    numbers = {str(int(page.name[:4])) for page in PAGES}

    for page in PAGES:
        named = set(re.findall(r"decisions? (\d+)", page.read_text(encoding="utf-8")))

        assert named <= numbers, page.name
