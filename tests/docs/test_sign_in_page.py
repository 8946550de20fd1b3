"""The how-to about the sign-in pages and the pages say the same."""

from chamberlain.embedded.identity import errors
from chamberlain.embedded.identity.rendering import FOLDER
from tests.docs.pages import ROOT, named, section

PAGE = ROOT / "docs" / "how-to" / "sign-in.md"


def test_it_works() -> None:
    said = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.html"))
    said += "".join(vars(refusal).get("title", "") for refusal in vars(errors).values() if isinstance(refusal, type))
    # The one that is about time has no class of its own.
    said += "There were too many attempts"

    for title in named(section(PAGE, "## When it does not work")):
        assert title in said, title


def test_it_names_every_refusal_that_a_person_can_do_something_about() -> None:
    titles = set(named(section(PAGE, "## When it does not work")))
    text = PAGE.read_text(encoding="utf-8")

    assert {
        errors.FormNotOurs.title,
        errors.RequestNotOurs.title,
        errors.NobodySignsIn.title,
    } <= titles
    assert "shows the right address" in text
