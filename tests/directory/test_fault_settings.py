# SPDX-License-Identifier: Apache-2.0
"""The settings select the adapter and its faults."""

from datetime import timedelta

import pytest

from chamberlain.app.directory import faults_of, first_look, make_directory, make_injection
from chamberlain.directory.embedded.directory import EmbeddedDirectory, FaultyDirectory
from chamberlain.embedded.directory.faults import Faults, Outages
from chamberlain.settings import Settings
from tests.databases import Databases

SECOND = timedelta(seconds=1)


def settings(**changes: object) -> Settings:
    return Settings.model_validate(changes)


async def test_it_works_without_faults(databases: Databases) -> None:
    plain = settings(fault_visibility_delay=0)

    assert make_injection(plain) is None
    assert isinstance(make_directory(plain, databases.worker.pool), EmbeddedDirectory)


async def test_any_fault_selects_the_faulty_directory(databases: Databases) -> None:
    difficult = settings(fault_throttle=3)

    assert isinstance(make_directory(difficult, databases.worker.pool), FaultyDirectory)


def test_it_reads_every_fault() -> None:
    everything = settings(
        fault_visibility_delay=15, fault_throttle=3, fault_not_found_after_create=1.5, fault_unavailable="2.5/30"
    )

    assert faults_of(everything) == Faults(15 * SECOND, 3, 1.5 * SECOND, Outages(2.5 * SECOND, 30 * SECOND))


@pytest.mark.parametrize(
    ("delay", "not_found", "seconds"), [(0, 0, 1), (1.2, 0, 2), (15, 3, 15), (1, 4, 4), (60, 0, 20)]
)
def test_it_returns_the_retry_delay(delay: float, not_found: float, seconds: int) -> None:
    assert first_look(settings(fault_visibility_delay=delay, fault_not_found_after_create=not_found)) == seconds
