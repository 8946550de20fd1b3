# SPDX-License-Identifier: Apache-2.0
import pytest

from chamberlain.cli.errors import ExitCode
from tests.commands import run_here

# An unreachable address, so that any attempt to connect fails.
NOWHERE = {"CHAMBERLAIN_DATABASE_OWNER_URL": "postgresql://nobody@127.0.0.1:1/nowhere"}


def test_it_works() -> None:
    done = run_here("migrate", "--print")

    assert done.returncode == ExitCode.DONE
    assert "CREATE ROLE chamberlain_owner" in done.stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--print", "--before"),
        ("--print", "--example"),
        ("--before", "--example"),
        ("--print", "--before", "--example"),
    ],
)
def test_it_rejects_options_of_which_one_would_be_passed_over(options: tuple[str, ...]) -> None:
    done = run_here("migrate", *options, environment=NOWHERE)

    assert (done.returncode, done.stdout) == (ExitCode.MISUSED, "")
    assert all(option in done.stderr for option in options)
