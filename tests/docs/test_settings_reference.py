# SPDX-License-Identifier: Apache-2.0
"""The page of settings and the table in the code say the same."""

import re
from pathlib import Path

from chamberlain.settings import SECRETS, Settings, variable

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
ROW = re.compile(r"^\| `(CHAMBERLAIN_[A-Z_]+)` \| (.+?) \| (.+) \|$", re.MULTILINE)


def test_it_works_for_every_setting_and_no_other() -> None:
    documented = [name for name, _, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))]

    assert documented == [variable(name) for name in Settings.model_fields]


def test_it_names_the_defaults_that_are_fixed() -> None:
    documented = {name: default for name, default, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))}
    fixed = {
        variable(name): f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"
        for name, field in Settings.model_fields.items()
        if field.default_factory is None and field.default is not None
    }

    assert {name: documented[name] for name in fixed} == fixed


def test_it_marks_the_secrets() -> None:
    secret = {name for name, _, meaning in ROW.findall(PAGE.read_text(encoding="utf-8")) if "*Secret.*" in meaning}

    assert secret == {variable(name) for name in SECRETS}
