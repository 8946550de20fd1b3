# SPDX-License-Identifier: Apache-2.0
"""Release a team of a running service."""

from uuid import UUID

import pytest

from chamberlain_client import Chamberlain
from chamberlain_client.errors import NotFound
from chamberlain_client.models import NewGroup, ReleaseState, ReleaseType
from tests.services import TEAM_TEMPLATE, wait_until

TEAMS = (ReleaseType.TEAM,)


def test_it_works(ada: Chamberlain, admin: Chamberlain) -> None:
    accepted = ada.groups.create(NewGroup(display_name="Leavers", template_id=UUID(TEAM_TEMPLATE)))
    ada.wait_for_request(accepted.request_id, timeout=20)

    preview = admin.releases.preview(TEAMS)
    started = admin.releases.start(TEAMS, comment="They leave.")
    wait_until(lambda: admin.releases.get(started.id).state is ReleaseState.SUCCEEDED, 20.0)
    newest = next(iter(admin.releases.list(limit=1)))

    assert "Leavers" in {each.display_name for each in preview.objects}
    assert preview.counts.objects["team"] == started.counts.total
    assert (newest.id, newest.counts.released) == (started.id, started.counts.total)
    with pytest.raises(NotFound):
        ada.requests.get(accepted.request_id)
    with pytest.raises(NotFound):
        admin.releases.get(UUID(int=1))
