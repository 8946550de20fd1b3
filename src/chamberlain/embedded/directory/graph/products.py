# SPDX-License-Identifier: Apache-2.0
"""The ids of products and service plans.

The directory knows them by name, such as `ESTATE_BUSINESS`, and derives the id that Graph has besides. Teams has the id
that programs compare, from Microsoft's page "Product names and service plan identifiers for licensing".
"""

from typing import Final
from uuid import UUID, uuid5

_PRODUCTS: Final = UUID("5c1d0000-0000-4000-8000-000000000001")
_PLANS: Final = UUID("5c1d0000-0000-4000-8000-000000000002")
_KNOWN_PLANS: Final = {"TEAMS1": UUID("57ff2da0-773e-42df-b2af-ffb7a2317929")}


def product_id(sku_part_number: str) -> UUID:
    """Return the `skuId` of a product."""
    return uuid5(_PRODUCTS, sku_part_number)


def plan_id(service_plan_name: str) -> UUID:
    """Return the `servicePlanId` of a service plan."""
    return _KNOWN_PLANS.get(service_plan_name) or uuid5(_PLANS, service_plan_name)
