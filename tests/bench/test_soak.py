# SPDX-License-Identifier: Apache-2.0
"""The long measurement finds what grows, and leaves alone what only wavers."""

import subprocess
import sys
from math import sin

import pytest

from bench.soak.flatness import Bound, growth, is_flat, settled
from bench.soak.limits import BOUNDS, grown
from bench.soak.memory import own_megabytes
from bench.soak.samples import Sample

WAVERING = [100 + 20 * sin(7 * each) for each in range(30)]
CASES = [
    ([100.0] * 30, True),
    ([], True),
    ([100.0], True),
    (WAVERING, True),
    ([100 + each for each in range(30)], False),
    ([value + 2 * each for each, value in enumerate(WAVERING)], False),
    # Falling figures do not grow, nor do figures that are too small to count.
    ([100 - each for each in range(30)], True),
    ([0.1 * each for each in range(30)], True),
    # An outlier at one end is no growth.
    ([100.0] * 29 + [150.0], True),
]


@pytest.mark.parametrize(("values", "flat"), CASES)
def test_it_works(values: list[float], *, flat: bool) -> None:
    assert is_flat(values, Bound(0.1, noise=5)) is flat


def test_growth_is_that_from_the_first_to_the_last() -> None:
    assert growth([10.0, 20.0, 30.0, 40.0]) == pytest.approx(30)


def test_the_first_fifth_does_not_count() -> None:
    assert settled([9.0, 9.0] + [1.0] * 8) == [1.0] * 8
    assert settled([1.0]) == []


@pytest.mark.parametrize("name", BOUNDS)
def test_what_grows_is_named(name: str) -> None:
    flat = dict.fromkeys(BOUNDS, 1000.0)
    samples = [Sample({**flat, name: 1000.0 + 300 * each}, {}) for each in range(10)]

    assert [told.split(" grows by ")[0] for told in grown(samples)] == [name]
    assert list(grown([Sample(flat, {})] * 10)) == []


@pytest.mark.parametrize(
    ("title", "counts"), [("postgres: chamberlain", True), ("postgres: autovacuum worker chamberlain", False)]
)
def test_memory_is_that_of_processes_that_stay(title: str, *, counts: bool) -> None:
    # A child that says that it is there, and ends when it can read no more.
    child = [title, "-c", "echo here; read line"]
    parent = [sys.executable, "-c", f"import subprocess; subprocess.run({child!r}, executable='/bin/sh')"]
    with subprocess.Popen(parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        assert service.stdout.readline() == "here\n"

        assert (own_megabytes(service.pid)["PostgreSQL"] > 0) is counts


@pytest.mark.heavy
@pytest.mark.needs("wrk")
def test_it_looks_at_a_running_service() -> None:
    options = ("--minutes", "1", "--seconds", "15")

    done = subprocess.run(
        [sys.executable, "-m", "bench.soak", *options], capture_output=True, text=True, check=False, timeout=170
    )

    # On a busy machine anything may look grown in a minute.
    assert done.returncode in {0, 1}, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if line[:1].isdigit()] == ["1", "2", "3", "4"]
    assert "jobs are held" not in done.stdout
