"""Names go from beside an id, wherever in a document it stands, and nothing else goes."""

from uuid import UUID

import pytest

from chamberlain.rules.changes import Json
from chamberlain.rules.erasures import without_names
from chamberlain.rules.ids import UserId

BEN = UserId(UUID("be000000-0000-4000-8000-000000000002"))
ADA = "ada00000-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("document", "after"),
    [
        ({"id": str(BEN), "displayName": "Ben"}, {"id": str(BEN), "displayName": ""}),
        ({"id": str(BEN).upper(), "display_name": "Ben"}, {"id": str(BEN).upper(), "display_name": ""}),
        ({"id": str(BEN), "mail": "ben@estate.example"}, {"id": str(BEN), "mail": None}),
        ({"id": ADA, "displayName": "Ada"}, {"id": ADA, "displayName": "Ada"}),
        (
            {"type": "user", "by": {"id": str(BEN), "displayName": "Ben"}, "displayName": "A group"},
            {"type": "user", "by": {"id": str(BEN), "displayName": ""}, "displayName": "A group"},
        ),
        (
            [{"id": ADA, "displayName": "Ada"}, {"approvers": [{"id": str(BEN), "displayName": "Ben"}]}],
            [{"id": ADA, "displayName": "Ada"}, {"approvers": [{"id": str(BEN), "displayName": ""}]}],
        ),
        ({"owners": [str(BEN)], "number": 1.5, "none": None}, {"owners": [str(BEN)], "number": 1.5, "none": None}),
        ({"id": None, "displayName": "Nobody"}, {"id": None, "displayName": "Nobody"}),
        ("Ben", "Ben"),
        (None, None),
    ],
)
def test_it_works(document: Json, after: Json) -> None:
    assert without_names(document, BEN) == after
    assert without_names(after, BEN) == after
