# SPDX-License-Identifier: Apache-2.0
"""The page about a difficult directory matches the service."""

import json
import re

from chamberlain.embedded.directory.faults import (
    AWAY,
    MAILBOX_NOT_FOUND,
    MAILBOX_NOT_SHOWN,
    NOT_FOUND,
    NOT_SHOWN,
    TOO_MANY,
)
from chamberlain.settings import Settings, variable
from tests.docs.pages import ROOT, named, rows, section

PAGE = ROOT / "docs" / "how-to" / "test-against-a-difficult-directory.md"


def test_it_names_every_reason_and_its_setting() -> None:
    table = rows(section(PAGE, "## Faults in a request"))

    assert {row[0].strip("`"): row[1].strip("`") for row in table if row[1].startswith("`CHAMBERLAIN_")} == {
        NOT_SHOWN: "CHAMBERLAIN_FAULT_VISIBILITY_DELAY",
        NOT_FOUND: "CHAMBERLAIN_FAULT_NOT_FOUND_AFTER_CREATE",
        TOO_MANY: "CHAMBERLAIN_FAULT_THROTTLE",
        AWAY: "CHAMBERLAIN_FAULT_UNAVAILABLE",
    }


def test_it_says_the_same_of_mailboxes() -> None:
    assert 'For a mailbox they say "mailbox" instead of "group".' in section(PAGE, "## Faults in a request")
    assert tuple(sentence.replace("group", "mailbox") for sentence in (NOT_SHOWN, NOT_FOUND)) == (
        MAILBOX_NOT_SHOWN,
        MAILBOX_NOT_FOUND,
    )


def test_it_names_every_setting_with_a_value_that_is_read() -> None:
    written = [name.partition("=") for name in named(section(PAGE, "## Settings"))]
    values = {name.removeprefix("CHAMBERLAIN_").lower(): value for name, _, value in written}

    assert {variable(name) for name in values} == {
        variable(name) for name in Settings.model_fields if name.startswith("fault_")
    }
    Settings.model_validate(values)


def test_its_example_is_json() -> None:
    (example,) = re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)

    assert json.loads(example)["waiting"]["reason"] == NOT_SHOWN
