# SPDX-License-Identifier: Apache-2.0
"""The page for authors of adapters names all capabilities, and the codes of their faults."""

import re
from dataclasses import fields

from chamberlain.directory.capabilities import Ability, Capabilities, Limits
from tests.docs.pages import REFERENCE, rows, section

PAGE = REFERENCE / "directory-adapters.md"
# They have their own sections.
ELSEWHERE = {"abilities", "limits", "unheld", "unreadable"}


def names(heading: str) -> list[str]:
    return [name for row in rows(section(PAGE, heading)) for name in re.findall(r"`(\w+)`", row[0])]


def test_it_works_for_every_ability() -> None:
    assert sorted(names("## Abilities")) == sorted(Ability)


def test_it_names_every_limit() -> None:
    assert names("## Limits") == [field.name for field in fields(Limits)]


def test_it_names_every_other_capability() -> None:
    stated = {field.name for field in fields(Capabilities) if field.init}

    assert set(names("## Behaviour")) == stated - ELSEWHERE
    assert {"unheld", "unreadable"} <= set(re.findall(r"`(\w+)`", section(PAGE, "## Properties")))


def test_its_codes_are_those_of_the_errors() -> None:
    errors = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    codes = re.findall(r"422 `(\w+)`", PAGE.read_text(encoding="utf-8"))

    assert len(set(codes)) == 7
    assert [code for code in codes if f"| `{code}` |" not in errors] == []
