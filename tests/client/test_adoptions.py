# SPDX-License-Identifier: Apache-2.0
"""Adopt existing groups of a running service, and undo the adoption."""

from uuid import UUID

import pytest
from msgspec import structs

from chamberlain_client import Chamberlain
from chamberlain_client.errors import Conflict, NotFound, NotPossible
from chamberlain_client.models import AdoptedKind, AdoptionFilter, AdoptionState
from tests.services import GROUP_TEMPLATE, wait_until

pytestmark = pytest.mark.heavy

ALL_STAFF = UUID("94000000-0000-4000-8000-000000000001")
CHOSEN = AdoptionFilter(ids=(ALL_STAFF,))


def test_it_works(admin: Chamberlain) -> None:
    def shown() -> bool:
        return bool(admin.adoptions.preview(AdoptedKind.GROUP, GROUP_TEMPLATE, chosen=CHOSEN).taken)

    # The service reads the groups of the directory when it starts.
    wait_until(shown, 20.0)
    preview = admin.adoptions.preview("group", GROUP_TEMPLATE, chosen=CHOSEN)
    confirmed = admin.adoptions.confirm(preview)
    wait_until(lambda: admin.adoptions.get(confirmed.id).state is AdoptionState.SUCCEEDED, 20.0)
    newest = next(iter(admin.adoptions.list(limit=1)))
    undo_change = admin.adoptions.undo(confirmed.id, comment="Only to see it.")
    wait_until(lambda: admin.adoptions.get(confirmed.id).state is AdoptionState.UNDONE, 20.0)

    assert ([one.id for one in preview.taken], preview.counts.taken) == ([ALL_STAFF], 1)
    assert (confirmed.state, confirmed.counts.total, confirmed.filter) == (AdoptionState.RUNNING, 1, CHOSEN)
    assert (newest.id, newest.counts.adopted) == (confirmed.id, 1)
    assert undo_change.state is AdoptionState.UNDOING
    with pytest.raises(Conflict):
        admin.adoptions.undo(confirmed.id)


def test_it_rejects_a_changed_preview_and_unknown_adoptions(admin: Chamberlain) -> None:
    preview = admin.adoptions.preview(AdoptedKind.GROUP, GROUP_TEMPLATE, chosen=CHOSEN)

    with pytest.raises(Conflict) as changed:
        admin.adoptions.confirm(structs.replace(preview, digest=f"sha256:{64 * '0'}"))
    assert changed.value.code == "previewChanged"
    with pytest.raises(NotPossible):
        admin.adoptions.preview(AdoptedKind.ROOM, GROUP_TEMPLATE)
    with pytest.raises(NotFound):
        admin.adoptions.get(UUID(int=1))
