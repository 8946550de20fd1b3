"""Reading the pages of the documentation: tables, sections, blocks of commands."""

import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
_CELL = re.compile(r"`([^`]+)`")


def all_pages() -> list[Path]:
    """Every page of the project."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


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


def statuses(text: str) -> Mapping[str, int]:
    """The codes of a table with the number in their second cell."""
    return {_CELL.findall(row[0])[0]: int(row[1]) for row in rows(text)}


def shell_blocks(page: Path) -> list[str]:
    """The blocks of commands, as they can be copied."""
    return re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
