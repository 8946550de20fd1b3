"""The page about adoption does what it says, word for word, and leaves the estate as it was."""

import re

from chamberlain.adoptions.wire import AdoptionFilter
from tests.docs.commands import run
from tests.docs.pages import ROOT, named, section, shell_blocks
from tests.services import Service

PAGE = ROOT / "docs" / "how-to" / "adoption.md"


def test_it_works(service: Service) -> None:
    preview, confirm, look, undo = shell_blocks(PAGE)

    # People read between the blocks; a few seconds are enough for the service.
    shown, confirmed, read, group, undoing, listed = run(service, preview, confirm, f"sleep 4\n{look}", undo)

    assert (shown["counts"], shown["taken"][0]["displayName"]) == ({"taken": 1, "conflicts": {}}, "All staff")
    assert (confirmed["state"], confirmed["counts"]["total"]) == ("running", 1)
    assert (read["id"], read["state"], read["counts"]["adopted"]) == (confirmed["id"], "succeeded", 1)
    assert group["requestId"] is not None
    assert undoing["state"] == "undoing"
    assert [each["id"] for each in listed["items"]] == [confirmed["id"]]


def test_it_names_every_conflict_and_every_filter() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rules = list((ROOT / "src" / "chamberlain" / "adoptions").glob("*.py"))
    later = {"gone", "noOwner", "changedSince", "noAnswer"}
    given = (
        {
            code
            for path in rules
            for code in re.findall(r'AdoptionConflict\(\s*"(\w+)"', path.read_text(encoding="utf-8"))
        }
        - later
        - {"markStays"}
    )

    assert set(named(section(PAGE, "## 1. Look at what would be taken"))) == given | {"nameTaken", "addressTaken"}
    assert set(named(section(PAGE, "## 2. Confirm it"))) >= later
    assert "`markStays`" in section(PAGE, "## 3. Undo it")
    assert [name for name in AdoptionFilter.__struct_fields__ if f"`{name}`" not in text] == []
