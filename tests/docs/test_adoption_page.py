# SPDX-License-Identifier: Apache-2.0
"""The page about adoption does what it says, word for word, and leaves the estate as it was."""

import re

import pytest

from chamberlain.adoptions.wire import AdoptionFilter
from tests.docs.commands import documents, outputs
from tests.docs.pages import ROOT, named, section, shell_blocks
from tests.services import Service

PAGE = ROOT / "docs" / "how-to" / "adoption.md"


@pytest.mark.heavy
def test_it_works(service: Service) -> None:
    preview, confirm, look, undo, again, confirm_again, *rest = shell_blocks(PAGE)

    # A reader reads between the blocks; here the next one waits for the worker.
    shown, _, looked, undone, *http = outputs(
        service,
        preview,
        confirm,
        f"{until('succeeded')}\n{look}",
        undo,
        f"{until('undone')}\n{again}",
        confirm_again,
        f"{until('succeeded')}\n{rest[0]}",
        *rest[1:],
    )
    ahead, read, undoing = documents("".join(http))

    assert shown.startswith("taken\tAll staff\t")
    assert "\tsucceeded\tgroup\tProject group\t1\t1\t" in looked
    assert re.search(r"^requestId +[0-9a-f]", looked, re.MULTILINE)
    assert re.search(r"^state +undoing$", undone, re.MULTILINE)
    assert (ahead["counts"], ahead["taken"][0]["displayName"]) == ({"taken": 1, "conflicts": {}}, "All staff")
    assert (read["state"], read["counts"]["adopted"]) == ("succeeded", 1)
    assert (undoing["id"], undoing["state"]) == (read["id"], "undoing")


def until(state: str) -> str:
    """A command that waits until the newest adoption has a state."""
    return f"until .venv/bin/chamberlain adoption list --limit 1 | grep -q {state}; do :; done"


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
