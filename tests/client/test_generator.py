# SPDX-License-Identifier: Apache-2.0
"""Generate the synchronous client and the models; `dev.py check` compares the whole output."""

import pytest

from checks.client import models, twin


@pytest.mark.parametrize(
    ("asynchronous", "synchronous"),
    [
        pytest.param("async def get(self) -> int: ...", "def get(self) -> int: ...", id="a function"),
        pytest.param("x = await self._send(await a)", "x = self._send(a)", id="two awaits in one line"),
        pytest.param("[i async for i in AsyncPages()]", "[i for i in Pages()]", id="a comprehension"),
        pytest.param("async with aclosing(a) as b: ...", "with closing(a) as b: ...", id="a block"),
        pytest.param('"""An AsyncPages, said async."""', '"""An Pages, said async."""', id="names in strings"),
        pytest.param('"""AsyncA\n  AsyncB""" + AsyncC', '"""A\n  B""" + C', id="a string of several lines"),
        pytest.param("x = 1  # noqa: A002  Of AsyncPages.", "x = 1  # noqa: A002  Of Pages.", id="a comment"),
        pytest.param("AsyncGenerator[AsyncA]", "Generator[A]", id="a name in a name"),
    ],
)
def test_it_works(asynchronous: str, synchronous: str) -> None:
    assert twin.synchronous(f"{asynchronous}\n") == f"{synchronous}\n"


@pytest.mark.parametrize(
    ("wire", "python"),
    [
        pytest.param("displayName", "display_name", id="a property"),
        pytest.param("hideFromGAL", "hide_from_gal", id="an abbreviation"),
        pytest.param("SendAs", "send_as", id="a word"),
        pytest.param("q", "q", id="one letter"),
    ],
)
def test_it_converts_names(wire: str, python: str) -> None:
    assert models.snake_case(wire) == python


def test_it_rejects_a_schema_that_is_not_in_the_table() -> None:
    with pytest.raises(models.TableError, match="HealthCheck"):
        models.generate(omitted=())
