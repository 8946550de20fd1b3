# SPDX-License-Identifier: Apache-2.0
"""Provisioning commits asynchronously; the commit that records it waits for the disk."""

import pytest

from tests.databases import Databases


@pytest.mark.parametrize("function", ["ensure_groups", "ensure_mailboxes"])
async def test_provisioning_does_not_wait_for_the_disk(databases: Databases, function: str) -> None:
    async with databases.worker.across_tenants() as tx:
        taken = await tx.fetch_row(
            "SELECT pronargs FROM pg_proc WHERE pronamespace = 'directory'::regnamespace AND proname = $1", function
        )
        assert taken is not None
        # All parameters but the first are arrays, which can be empty.
        nothing = ", ".join(["'{}'"] * (taken["pronargs"] - 1))

        await tx.fetch(f"SELECT FROM directory.{function}('requestId', {nothing})")
        waits = await tx.fetch_row("SHOW synchronous_commit")

    assert waits is not None
    assert waits["synchronous_commit"] == "off"
