# SPDX-License-Identifier: Apache-2.0
"""`assignedLicenses` and `assignedPlans` of users.

A call gets them only if it selects them.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from chamberlain.embedded.directory.graph.calls import Call, Row, Shape
from chamberlain.embedded.directory.graph.options import Options
from chamberlain.embedded.directory.graph.products import plan_id, product_id
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

ASSIGNED: Final = frozenset({"assignedLicenses", "assignedPlans"})

# The state of a plan by its provisioning status. Graph shows a disabled plan as deleted.
_STATES: Final = {"Success": "Enabled", "Disabled": "Deleted"}


async def read_assigned(call: Call, options: Options, rows: Sequence[Row]) -> Mapping[UUID, Shape]:
    """Read the licences and plans of these users, if they are selected."""
    if not call.has_details or not ASSIGNED & {*(options.select or ())}:
        return {}
    ids = [row["id"] for row in rows]
    async with call.connected() as connection:
        found = await connection.fetch(SQL["assigned"], call.tenant_id, ids)
    return {user_id: _shape([row for row in found if row["user_id"] == user_id]) for user_id in ids}


def _shape(licenses: Sequence[Row]) -> Shape:
    plans = [pair for row in licenses for pair in zip(row["plans"], row["statuses"], strict=True)]
    return {
        "assignedLicenses": [
            {
                "skuId": str(product_id(row["sku_part_number"])),
                "disabledPlans": [
                    str(plan_id(name))
                    for name, status in zip(row["plans"], row["statuses"], strict=True)
                    if status == "Disabled"
                ],
            }
            for row in licenses
        ],
        "assignedPlans": [
            {
                # The directory does not record the time of an assignment.
                "assignedDateTime": None,
                "capabilityStatus": _STATES.get(status, "Suspended"),
                "service": name,
                "servicePlanId": str(plan_id(name)),
            }
            for name, status in plans
        ],
    }
