# SPDX-License-Identifier: Apache-2.0
"""The scripts that measure the code and compare its public interface."""

from pathlib import Path

import pytest

from bench.house.figures import TERM, code_lines, figures_of, has_clause, texts_of
from bench.house.interface import camel, dotted_names_of, enumerations_of, leaves, log_keys_of, metrics_of

SOURCE = '''"""A module."""

# A comment
# of two lines.
from enum import StrEnum


class Color(StrEnum):
    """Colors."""

    RED = "red"
    BLUE = "blue"


def paint(name: str) -> None:
    text = """not
a docstring"""
    more = {"shade": text}
    logger.info("Painted.", extra={"color": name, "text": text})
    logger.info("Dried.", extra=fields() | more)
    Counter("chamberlain_paints", "Paints.", ("color",))
    record("color.changed")
    render("color.html")


def fields() -> dict[str, int]:
    return {"hours": 1}
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "src/chamberlain"
    folder.mkdir(parents=True)
    (folder / "colors.py").write_text(SOURCE)
    return tmp_path


def test_it_counts_lines_of_code() -> None:
    assert code_lines(SOURCE) == 15


def test_it_finds_docstrings_and_blocks_of_comments() -> None:
    assert list(texts_of(SOURCE)) == ["A module.", "Colors.", "A comment of two lines."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What the caller sent.", True),
        ("Returns the names of who has left.", True),
        ("Whoever owns it may delete it.", True),
        ("A user who owns it may delete it.", False),
        ("What is a lease?", False),
        ("`what` is a parameter.", False),
    ],
)
def test_it_finds_clauses_in_place_of_a_noun(text: str, expected: bool) -> None:  # noqa: FBT001 - a case of the table.
    assert has_clause(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("Retries are validated.", True), ("Try it again.", False)])
def test_it_finds_standard_terms(text: str, expected: bool) -> None:  # noqa: FBT001 - a case of the table.
    assert (TERM.search(text) is not None) == expected


def test_it_measures_a_checkout(root: Path) -> None:
    figures = figures_of(root)

    assert figures["files without __init__.py"] == "1"
    assert figures["lines of code"] == "15"
    assert figures["public functions with a docstring"] == "0.0%"


def test_it_reads_the_interface_of_a_checkout(root: Path) -> None:
    assert list(enumerations_of(root)) == ["blue, red"]
    assert list(log_keys_of(root)) == ["color", "text", "shade", "hours"]
    assert list(metrics_of(root)) == ["Counter chamberlain_paints ('color',)"]
    assert list(dotted_names_of(root)) == ["color.changed"]


def test_it_lists_the_values_of_a_document_without_texts() -> None:
    example = {"code": "notFound", "title": "A text.", "detail": "A text."}
    document = {"summary": "A text.", "properties": {"description": {"type": "string"}}, "tags": [{"name": "b"}]}

    assert list(leaves(document, "")) == ['/properties/description/type = "string"', '/tags/*/name = "b"']
    assert list(leaves({"example": example, "title": "API"}, "")) == ['/example/code = "notFound"', '/title = "API"']


def test_it_writes_names_as_json_does() -> None:
    assert camel("is_wheel_chair_accessible") == "isWheelChairAccessible"
