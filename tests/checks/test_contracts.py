# SPDX-License-Identifier: Apache-2.0
import configparser

import pytest

import dev

pytestmark = pytest.mark.pure


def test_it_works_for_every_package_there_is() -> None:
    assert dev.outside_contracts() == []


def test_it_rejects_exceptions_from_a_contract() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(dev.ROOT / ".importlinter")

    assert {name for name in contracts.sections() if "ignore_imports" in contracts[name]} == set()
