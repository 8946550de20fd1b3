# SPDX-License-Identifier: Apache-2.0
"""The page about drift has every property with its treatment."""

from chamberlain.directory.properties import PROPERTIES, Treatment
from tests.docs.pages import REFERENCE, rows, section

PAGE = REFERENCE / "drift.md"


def test_it_works() -> None:
    found = rows(section(PAGE, "## Properties"))

    assert [row[:1] + row[2:] for row in found] == [
        [f"`{name}`", f"`{manner.treatment}`", "yes" if manner.is_repairable else "no"]
        for name, manner in PROPERTIES.items()
    ]


def test_it_tells_of_every_treatment() -> None:
    found = rows(section(PAGE, "## Treatment"))

    assert [row[0] for row in found] == [f"`{treatment}`" for treatment in Treatment]
