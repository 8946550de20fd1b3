"""Links between pages lead somewhere."""

import re

from tests.docs.pages import ROOT, all_pages

LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(text: str) -> set[str]:
    """The names of the headings of a page, as links write them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_it_works_for_every_page() -> None:
    broken = []
    for page in all_pages():
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            there = page.parent / name if name else page
            if not there.exists() or (anchor and anchor not in anchors(there.read_text(encoding="utf-8"))):
                broken.append(f"{page.relative_to(ROOT)}: {target}")

    assert broken == []


def test_every_page_is_reached_from_the_first() -> None:
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page.is_dir():
            waiting.extend(page.glob("*.md"))
        elif page.suffix == ".md" and page not in seen:
            seen.add(page)
            targets = (target.partition("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8")))
            waiting.extend(page.parent / target for target in targets if target and "://" not in target)

    assert {page.resolve() for page in all_pages()} - seen <= {(ROOT / "CHANGELOG.md").resolve()}
