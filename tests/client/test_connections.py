# SPDX-License-Identifier: Apache-2.0
"""The connection of a tenant to its directory, by the SDK."""

import pytest

from chamberlain_client import Chamberlain
from chamberlain_client.errors import Conflict, NotFound, NotPossible
from chamberlain_client.models import AdapterName, ConnectionState


def test_it_works(admin: Chamberlain) -> None:
    added = admin.connections.add(AdapterName.EMBEDDED)
    checked = admin.connections.check(added.id)
    listed = list(admin.connections.list())
    with pytest.raises(Conflict):
        admin.connections.add("embedded")
    with pytest.raises(NotPossible):
        admin.connections.change(added.id, adapter="microsoft365")
    read = admin.connections.get(added.id)
    admin.connections.delete(added.id, if_match=read.etag)

    assert (added.state, checked.state) == (ConnectionState.NEW, ConnectionState.READY)
    assert [each.id for each in listed] == [read.id] == [added.id]
    with pytest.raises(NotFound):
        admin.connections.get(added.id)
