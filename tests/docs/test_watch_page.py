"""The page about watching names the limits that there are."""

import pytest

from chamberlain.api.preferences import LONGEST_WAIT
from chamberlain.api.streams import MOST_OPEN
from chamberlain.rules.requests import ENDED
from chamberlain.rules.timeline import MOST_ENTRIES, EntryKind
from chamberlain.store.timelines import QUIET
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "watch-a-request.md"


@pytest.mark.parametrize(
    "says",
    [
        f"within N seconds (at most {LONGEST_WAIT.seconds})",
        f"nothing has happened for {QUIET.seconds} seconds",
        f"between {MOST_ENTRIES // 2} and {MOST_ENTRIES} are kept",
        f"may have {MOST_OPEN} streams open",
    ],
)
def test_it_names_every_limit(says: str) -> None:
    assert says in PAGE.read_text(encoding="utf-8")


def test_it_names_every_kind_of_event_and_every_end() -> None:
    (ends,) = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("- The stream ends")]

    assert all(f"`{state}`" in ends for state in ENDED)
    assert all(f"\nevent: {kind}\n" in PAGE.read_text(encoding="utf-8") for kind in EntryKind)
