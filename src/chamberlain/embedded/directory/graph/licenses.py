"""`/users/{id}/licenseDetails`: the products that a user holds, with their service plans."""

from uuid import uuid5

from chamberlain.embedded.directory.database import one_tenant
from chamberlain.embedded.directory.graph.calls import Call, Shape
from chamberlain.embedded.directory.graph.options import read_options
from chamberlain.embedded.directory.graph.users import find_user

_NO_OPTIONS = frozenset[str]()

_LICENSES = """
SELECT l.sku_part_number, ARRAY(
    SELECT p.service_plan_name FROM directory.service_plans p
    WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.sku_part_number = l.sku_part_number ORDER BY p.service_plan_name
) AS plans, ARRAY(
    SELECT p.provisioning_status FROM directory.service_plans p
    WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.sku_part_number = l.sku_part_number ORDER BY p.service_plan_name
) AS statuses
FROM directory.licenses l WHERE l.tenant_id = $1 AND l.user_id = $2 ORDER BY l.sku_part_number
"""


async def list_licenses(call: Call) -> Shape:
    """The licences of the user."""
    read_options(call.query_string, known=_NO_OPTIONS)
    async with one_tenant(call.pool, call.tenant_id) as connection:
        user = await find_user(call, connection)
        rows = await connection.fetch(_LICENSES, call.tenant_id, user["id"])
    return {
        "@odata.context": f"{call.root}/$metadata#users('{user['id']}')/licenseDetails",
        "value": [
            {
                # Nothing but its name tells a product from others; what has no id here gets one of it.
                "id": str(uuid5(user["id"], row["sku_part_number"])),
                "skuPartNumber": row["sku_part_number"],
                "servicePlans": [
                    {"servicePlanName": name, "provisioningStatus": status, "appliesTo": "User"}
                    for name, status in zip(row["plans"], row["statuses"], strict=True)
                ],
            }
            for row in rows
        ],
    }
