# SPDX-License-Identifier: Apache-2.0
"""Control characters in names of a directory are removed."""

from uuid import UUID

import pytest

from chamberlain.core.text import clean_line, clean_lines
from chamberlain.directory.embedded.subjects import observed_of
from chamberlain.embedded.directory.guests import SubjectShown

BAD = ["\0", "\x01", "\x1e", "\x1f", "\x7f", "\x85", "\ud800"]


@pytest.mark.parametrize("bad", BAD)
def test_a_name_is_one_clean_line(bad: str) -> None:
    assert clean_line(f"All{bad} staff").replace("  ", " ") == "All staff"
    assert clean_lines(f"First\n{bad}second\tthird") == "First\nsecond\tthird"


def test_directional_marks_stay() -> None:
    assert clean_line("\u200fعمر\u200f") == "\u200fعمر\u200f"


@pytest.mark.parametrize("bad", BAD)
def test_a_group_whose_name_has_a_nul_is_shown_without_it(bad: str) -> None:
    shown = SubjectShown(
        tenant_id=UUID(int=1),
        id=UUID(int=2),
        display_name=f"All{bad}staff",
        mail=f"all{bad}@estate.example",
        is_team=False,
        visibility="Private",
        is_dynamic=False,
        values={},
        settings=None,
        site=None,
        guests=(),
        owners=0,
    )

    observed = observed_of(shown)

    assert observed.display_name in {"Allstaff", "All staff"}
    assert observed.mail in {"all@estate.example", "all @estate.example"}
