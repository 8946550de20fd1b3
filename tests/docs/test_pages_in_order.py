# SPDX-License-Identifier: Apache-2.0
"""The blocks of pages without a test of their own run in order, as a reader copies them."""

from pathlib import Path

import pytest

from tests.docs.commands import printed
from tests.docs.homes import service_of_user
from tests.docs.pages import ROOT, shell_blocks
from tests.docs.runs import RUNS, InOrder
from tests.docs.terminals import sign_in
from tests.services import Service

pytestmark = pytest.mark.heavy

PAGES = {ROOT / page: run for page, run in RUNS.items() if isinstance(run, InOrder)}


def pages(*, alone: bool) -> list[object]:
    """The pages that need a service of their own, or the others, as parameters of a test."""
    return [
        pytest.param(page, id=f"{page.parent.name}-{page.stem}") for page, run in PAGES.items() if run.alone == alone
    ]


@pytest.mark.parametrize("page", pages(alone=False))
def test_it_works(service: Service, page: Path) -> None:
    printed(service, *shell_blocks(page))


@pytest.mark.parametrize("page", pages(alone=True))
def test_it_works_with_a_service_of_its_own(page: Path) -> None:
    with service_of_user() as service:
        sign_in(service)
        printed(service, *shell_blocks(page))
