# SPDX-License-Identifier: Apache-2.0
"""Every route below `/v1.0` has a path with placeholders for metrics and traces."""

import re
from uuid import UUID

import pytest

from chamberlain.embedded.directory.graph.routes import READS, ROUTES, Route

_WORDS = re.compile(r"/v1\.0(?:/(?:[\w.$]+|\{id\}|groups\(uniqueName='\{uniqueName\}'\)))+")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path_format}")
def test_it_works(route: Route) -> None:
    path = re.sub(r"{\w+}", str(UUID(int=1)), route.path_format)

    assert _WORDS.fullmatch(route.path_format)
    assert route.path.fullmatch(path)


def test_no_two_reads_have_the_same_path() -> None:
    assert len({(route.method, route.path_format) for route in READS}) == len(READS)
