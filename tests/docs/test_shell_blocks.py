# SPDX-License-Identifier: Apache-2.0
"""Every block of commands runs in a test, or says why it does not, and addresses the reader."""

import sys

import pytest

from tests.docs.pages import ROOT, Fence, all_pages, fences, shell_blocks
from tests.docs.runs import RUNS, OwnTest

pytestmark = pytest.mark.pure

# The number of blocks that no test runs. It changes with a reason alone: such a block is not proved.
NOT_RUN = 45
# A block that begins with one of these is a block of commands, and is marked as one.
PROGRAMS = (
    "$", ".venv/bin/", "apt", "chamberlain", "cp", "curl", "deploy/", "install", "kubectl", "pip", "podman", "psql",
    "python3", "runuser", "ssh", "systemctl", "useradd",
)  # fmt: skip
PAGES = {str(page.relative_to(ROOT)): page for page in all_pages()}


def blocks_not_run() -> list[tuple[str, Fence]]:
    """The blocks that say why no test runs them, with their pages."""
    return [(name, fence) for name, page in PAGES.items() for fence in fences(page) if "not-run" in fence.info]


def test_it_works_for_every_page_with_blocks_that_a_reader_can_run() -> None:
    assert {name for name, page in PAGES.items() if shell_blocks(page)} == set(RUNS)


@pytest.mark.parametrize(("name", "run"), [(name, run) for name, run in RUNS.items() if isinstance(run, OwnTest)])
def test_the_test_of_a_page_runs_all_of_its_blocks(name: str, run: OwnTest) -> None:
    source = (ROOT / run.test).read_text(encoding="utf-8")

    assert PAGES[name].name in source
    # Let that test run the new block as well, then correct the number in tests/docs/runs.py.
    count = len(shell_blocks(PAGES[name]))
    assert count == run.blocks


def test_a_block_that_is_not_run_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = blocks_not_run()
    count = len(found)

    with capsys.disabled():
        sys.stdout.write(f"\n{count} blocks of commands are not run by the tests.\n")
    assert [name for name, fence in found if not fence.info.startswith("sh not-run: ")] == []
    assert count == NOT_RUN


def test_blocks_of_commands_are_marked_as_such() -> None:
    unmarked = [
        name
        for name, page in PAGES.items()
        for fence in fences(page)
        if fence.language in {"", "text", "console", "bash", "shell"} and fence.text.startswith(PROGRAMS)
    ]

    assert unmarked == []
