# SPDX-License-Identifier: Apache-2.0
"""The vendor's Graph SDK writes the directory of the sample data: only base address and credential are others."""

import pytest

from tests.clients.runs import said_by
from tests.services import Service

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


def test_it_writes_users_groups_and_teams(service: Service) -> None:
    said = said_by("graph_write", service, MARK="00000000-0000-4000-8000-0000000000ff")

    assert said == {
        "mail": "written@estate.example",
        "team": True,
        "channel": "Plans",
        "found": [["Written", "Written by a program"]],
        "members": ["Fay Moreau"],
        "refused": [[400, "Request_BadRequest"], [400, "Request_BadRequest"]],
        "left": [],
        "gone": [404, "Request_ResourceNotFound"],
    }
