"""Refusals list the first hundred faults and say whether there are more."""

import pytest

from chamberlain.rules.errors import MOST_FAULTS, BodyInvalid, Fault, NotPossible


@pytest.mark.parametrize(
    ("number", "listed", "are_truncated"),
    [(1, 1, False), (99, 99, False), (100, 100, False), (101, 100, True), (500, 100, True)],
)
@pytest.mark.parametrize("refusal", [BodyInvalid, NotPossible])
def test_a_hundred_faults_are_listed(
    refusal: type[BodyInvalid | NotPossible],
    number: int,
    listed: int,
    are_truncated: bool,  # noqa: FBT001 - a case of the table.
) -> None:
    found = refusal(Fault(f"/{place}", "wrong", "Wrong.") for place in range(number))

    assert MOST_FAULTS == 100
    assert [fault.pointer for fault in found.faults] == [f"/{place}" for place in range(listed)]
    assert found.are_truncated is are_truncated
