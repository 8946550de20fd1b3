# SPDX-License-Identifier: Apache-2.0
"""The how-to about the sign-in pages quotes their texts."""

from chamberlain.embedded.identity import errors
from chamberlain.embedded.identity.rendering import FOLDER
from tests.docs.pages import ROOT, named, section

PAGE = ROOT / "docs" / "how-to" / "sign-in.md"


def test_it_works() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.html"))
    texts += "".join(vars(error).get("title", "") for error in vars(errors).values() if isinstance(error, type))
    # The page about throttling has no class with a title.
    texts += "Too many attempts"

    for title in named(section(PAGE, "## When it does not work")):
        assert title in texts, title


def test_it_names_every_error_that_a_user_can_solve() -> None:
    titles = set(named(section(PAGE, "## When it does not work")))
    text = PAGE.read_text(encoding="utf-8")

    assert {
        errors.FormInvalid.title,
        errors.ClientRequestInvalid.title,
        errors.UsersNotServed.title,
    } <= titles
    assert "shows the right address" in text
