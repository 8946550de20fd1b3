# SPDX-License-Identifier: Apache-2.0
"""Tests of a program that requests groups, against the emulator. Replace `onboard` by a function of your program."""

import os
import unittest
from uuid import UUID

from chamberlain_client import Chamberlain
from chamberlain_client.errors import Malformed
from chamberlain_client.models import NewGroup

PROJECT_GROUP = UUID("7e000000-0000-4000-8000-000000000011")


def onboard(chamberlain: Chamberlain, project: str) -> str | None:
    """Request the group of a project, and return its address."""
    accepted = chamberlain.groups.create(NewGroup(display_name=project, template_id=PROJECT_GROUP))
    return chamberlain.wait_for_group(accepted, retry_after=1).mail


class OnboardingTest(unittest.TestCase):
    def setUp(self) -> None:
        server, token = os.environ["CHAMBERLAIN_SERVER"], os.environ["CHAMBERLAIN_TOKEN"]
        self.chamberlain = Chamberlain(server, token, graph_token=os.environ["CHAMBERLAIN_GRAPH_TOKEN"])
        self.addCleanup(self.chamberlain.close)

    def test_a_project_gets_a_group(self) -> None:
        self.assertEqual(onboard(self.chamberlain, "Apollo"), "apollo@estate.example")

    def test_a_project_needs_a_name(self) -> None:
        with self.assertRaises(Malformed):
            onboard(self.chamberlain, "")


if __name__ == "__main__":
    unittest.main()
