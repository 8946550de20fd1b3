"""The client that does not await is made from the one that does."""

import sys
from pathlib import Path

import pytest

import twin

RUFF = Path(sys.executable).parent / "ruff"


def test_it_works() -> None:
    made = {file.name: file.read_text(encoding="utf-8") for file in twin.MADE.glob("*.py")}
    made.pop("__init__.py")

    assert made == twin.twins(RUFF), "Run: python3 dev.py twin"


@pytest.mark.parametrize(
    ("written", "made"),
    [
        pytest.param("async def get(self) -> int: ...", "def get(self) -> int: ...", id="a function"),
        pytest.param("x = await self._send(await a)", "x = self._send(a)", id="awaiting twice in a line"),
        pytest.param("[i async for i in AsyncPages()]", "[i for i in Pages()]", id="a comprehension"),
        pytest.param("async with aclosing(a) as b: ...", "with closing(a) as b: ...", id="a block"),
        pytest.param('"""An AsyncPages, said async."""', '"""An Pages, said async."""', id="names in texts, no words"),
        pytest.param('"""AsyncA\n  AsyncB""" + AsyncC', '"""A\n  B""" + C', id="a text of several lines"),
        pytest.param("x = 1  # noqa: A002  Of AsyncPages.", "x = 1  # noqa: A002  Of Pages.", id="a comment"),
        pytest.param("AsyncGenerator[AsyncA]", "Generator[A]", id="a name in a name"),
    ],
)
def test_it_handles(written: str, made: str) -> None:
    assert twin.plain(f"{written}\n") == f"{made}\n"
