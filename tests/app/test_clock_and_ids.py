# SPDX-License-Identifier: Apache-2.0
"""Time and ids: no id twice, and each in the form that its standard asks for."""

import re
from uuid import RFC_4122, UUID

from chamberlain.app.clock_and_ids import new_id
from chamberlain.observability.logs import new_trace_id

# More than are drawn from the system at once.
MANY = 1000


def test_it_works_for_ids() -> None:
    ids = [new_id() for _ in range(MANY)]

    assert len(set(ids)) == MANY
    assert {(one.version, one.variant) for one in ids} == {(4, RFC_4122)}


def test_an_id_is_equal_to_what_is_read_of_its_text() -> None:
    one = new_id()

    read = UUID(str(one))

    assert {one: "found"}[read] == "found"
    assert isinstance(one, UUID)
    assert (one == read, one.hex == read.hex, one.bytes == read.bytes) == (True, True, True)


def test_it_works_for_trace_ids() -> None:
    ids = [new_trace_id() for _ in range(MANY)]

    assert len(set(ids)) == MANY
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)
