# SPDX-License-Identifier: Apache-2.0
"""Reading the pages of the documentation: tables, sections, blocks of commands."""

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
_CELL = re.compile(r"`([^`]+)`")
_FENCE = re.compile(r"^( *)```(.*)\n((?:.*\n)*?)\1```$", re.MULTILINE)


def all_pages() -> list[Path]:
    """Every page of the project."""
    folders = [ROOT / name for name in ("bench", "deploy", "docs", "examples")]
    return sorted([*ROOT.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))])


def section(page: Path, heading: str) -> str:
    """The text below one heading, up to the next of any level."""
    _, found, rest = page.read_text(encoding="utf-8").partition(f"\n{heading}\n")
    assert found, f"{page.name} has no heading {heading!r}."
    return re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The rows of all tables in a text, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rules = {index for index, row in enumerate(cells) if all(set(cell) <= {"-", ":"} and cell for cell in row)}
    return [row for index, row in enumerate(cells) if index not in rules and index + 1 not in rules]


def named(text: str) -> list[str]:
    """The code spans in the first cells of all tables, in order."""
    return [name for row in rows(text) for name in _CELL.findall(row[0])]


def labels(page: Path) -> list[str]:
    """The bold words of a page, in order: names of buttons, fields and states of browser pages."""
    # A name may continue on the next line.
    found = re.findall(r"\*\*([^*]+)\*\*", page.read_text(encoding="utf-8"))
    return [" ".join(name.split()) for name in found]


def statuses(text: str) -> Mapping[str, int]:
    """The codes of a table with the number in their second cell."""
    return {_CELL.findall(row[0])[0]: int(row[1]) for row in rows(text)}


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block of a page. `above` is the paragraph or list item directly before it, else empty."""

    line: int
    info: str
    text: str
    above: str

    @property
    def language(self) -> str:
        """The first word of the info string."""
        return self.info.partition(" ")[0]


def fences(page: Path) -> list[Fence]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for fence in _FENCE.finditer(text):
        before = text[: fence.start()]
        _, info, block = fence.groups()
        above = before.rstrip("\n").rpartition("\n\n")[2]
        found.append(Fence(before.count("\n") + 1, info, textwrap.dedent(block), above))
    return found


def shell_blocks(page: Path) -> list[str]:
    """The blocks of commands that a reader can run, as they can be copied."""
    return [fence.text for fence in fences(page) if fence.info == "sh"]
