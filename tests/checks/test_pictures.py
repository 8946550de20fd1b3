# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documentation show the product as it is."""

import json
import re
from pathlib import Path

import pytest

from checks import pictures
from tests.docs.pages import all_pages


def test_each_picture_is_on_a_page() -> None:
    shown = {
        name for page in all_pages() for name in re.findall(r"pictures/([\w-]+\.\w+)", page.read_text(encoding="utf-8"))
    }

    drawn = {file.name for file in pictures.PICTURES.iterdir()} - {pictures.TEXTS}

    assert shown == drawn


@pytest.mark.heavy
@pytest.mark.needs("chromium")
@pytest.mark.timeout(300)
def test_the_words_of_each_picture_are_those_of_today(tmp_path: Path) -> None:
    assert pictures.main([str(tmp_path)]) == 0

    committed = json.loads((pictures.PICTURES / pictures.TEXTS).read_text(encoding="utf-8"))
    assert json.loads((tmp_path / pictures.TEXTS).read_text(encoding="utf-8")) == committed, (
        "Run python3 dev.py pictures."
    )
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in pictures.PICTURES.iterdir()}


def test_the_screen_is_that_of_a_terminal() -> None:
    rows = pictures.screen("queued\r\x1b[2Kdone\r\n\x1b[1mrow\x1b[0m two\r\n")

    assert rows == [[("", "done")], [("strong", "row"), ("", " two")]]
