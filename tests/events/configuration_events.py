# SPDX-License-Identifier: Apache-2.0
"""The events of changed templates, policies and tenants, as they are stored."""

import json
from typing import Any

from tests.databases import Databases
from tests.estates import ADA, rows

BY_ADA = {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"}


# Any: the data of events are of every kind.
async def stored_events(databases: Databases) -> list[tuple[str, dict[str, Any]]]:
    """Types and data of all events, in the order of writing."""
    found = await rows(databases, "SELECT type, data FROM chamberlain.event ORDER BY sequence")
    return [(str(type_), json.loads(str(data))) for type_, data in found]
