# SPDX-License-Identifier: Apache-2.0
"""Above each block of code, a how-to or tutorial says what the reader does."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, fences

pytestmark = pytest.mark.pure

PAGES = sorted([*(ROOT / "docs" / "how-to").glob("*.md"), *(ROOT / "docs" / "tutorial").glob("*.md")])
# The verbs of instructions. A sentence, or a clause after a comma or colon, begins with one of them.
VERBS = (
    "accept|act|add|allow|apply|approve|ask|assign|back|build|call|cancel|catch|change|check|choose|clear|"
    "compare|configure|confirm|connect|continue|copy|create|decide|delete|download|edit|enter|export|fetch|"
    "find|fix|follow|generate|get|give|go|grant|guard|ignore|import|inspect|install|iterate|keep|kill|let|"
    "limit|list|log|look|make|mark|mount|move|name|note|open|pass|pick|point|press|preview|print|put|read|"
    "recreate|register|reject|release|remove|repair|repeat|replace|request|restart|restore|resume|retry|rotate|"
    "route|run|save|scrape|search|see|select|send|set|show|sign|simulate|start|stop|store|suspend|take|tell|"
    "test|translate|try|turn|undo|upgrade|use|verify|wait|watch|write"
)
BEGINNING = r"""(?:^|^[-\d.*]+\s+|[.:;!?*][`"')]*\s+|,\s+(?:and\s+|so\s+)?)(?:then\s+|now\s+)?"""
IMPERATIVE = re.compile(rf"{BEGINNING}(?:{VERBS})\b", re.IGNORECASE)
YOU = re.compile(r"\byou(?:r|rs)?\b", re.IGNORECASE)


def addresses_the_reader(text: str) -> bool:
    """Whether a paragraph says "you", or has an instruction."""
    return bool(YOU.search(text) or IMPERATIVE.search(" ".join(text.split())))


@pytest.mark.parametrize(
    ("above", "addressed"),
    [
        ("Run the doctor:", True),
        ("With HAProxy, set the address:", True),
        ("You see three lines:", True),
        ("1. Make every process expose its metrics:", True),
        ("The command prints one line per tenant:", False),
        ("It runs for an hour. Then:", False),
        ("", False),
    ],
)
def test_it_works_for_paragraphs(*, above: str, addressed: bool) -> None:
    assert addresses_the_reader(above) == addressed


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES])
def test_each_block_follows_an_instruction(page: Path) -> None:
    silent = [fence.line for fence in fences(page) if not addresses_the_reader(prose(fence.above))]

    assert silent == []


def prose(above: str) -> str:
    """The text of a paragraph, without headings, tables and the ends of other blocks."""
    return "\n".join(line for line in above.splitlines() if not line.lstrip().startswith(("#", "|", "```")))
