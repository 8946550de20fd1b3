# SPDX-License-Identifier: Apache-2.0
from uuid import UUID

import pytest

from chamberlain.directory.opensuite.addresses import Addresses

pytestmark = pytest.mark.pure

ADA, QUAY = UUID(int=1), UUID(int=2)


def test_it_works() -> None:
    addresses = Addresses({"ada@estate.example": {ADA}, "quay@estate.example": {QUAY}})

    assert addresses.claim(["quay@estate.example", "free@estate.example"], QUAY, "quay") is None
    fault = addresses.claim(["spare@estate.example", "Ada@Estate.example"], QUAY, "quay")
    assert fault is not None
    assert fault.code == "addressTaken"
    assert "Ada@Estate.example" in fault.detail


def test_one_object_of_a_batch_gets_an_address() -> None:
    addresses = Addresses({})

    faults = [addresses.claim([address], None, key) for address, key in [("a@b", 1), ("A@B", 2), ("a@b", 1)]]

    assert [fault is None for fault in faults] == [True, False, True]


def test_a_refused_object_claims_nothing() -> None:
    addresses = Addresses({"ada@estate.example": {ADA}})

    assert addresses.claim(["free@estate.example", "ada@estate.example"], None, 1) is not None
    assert addresses.claim(["free@estate.example"], None, 2) is None


def test_an_address_of_two_entries_is_taken_for_each_of_them() -> None:
    # As two servers of one directory can both accept it.
    assert Addresses({"quay@estate.example": {ADA, QUAY}}).claim(["quay@estate.example"], QUAY, 1) is not None
