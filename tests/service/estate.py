# SPDX-License-Identifier: Apache-2.0
"""The example estate with what these tests need beside it, put into the database of a running service."""

import asyncio

import yaml

from chamberlain.app.maintenance import configuration_service
from chamberlain.auth.models import Actor, ActorType
from chamberlain.configuration.files import read_configuration
from chamberlain.core.ids import TraceId
from chamberlain.database.transactions import open_database
from chamberlain.embedded.example import example_estate

ESTATE = "e57a7e00-0000-4000-8000-000000000001"
OTHER_HOUSE = "e57a7e00-0000-4000-8000-000000000002"
ZOE = "20e00000-0000-4000-8000-000000000001"
NOBODY = "0000dead-0000-4000-8000-000000000000"
MAILBOX_TEMPLATE = "7e000000-0000-4000-8000-000000000001"
GUEST_TEMPLATE = "7e000000-0000-4000-8000-000000000021"
INACTIVE_TEMPLATE = "7e000000-0000-4000-8000-0000000000e1"
STRICT_TEMPLATE = "7e000000-0000-4000-8000-0000000000e2"
BENS_TEMPLATE = "7e000000-0000-4000-8000-0000000000e3"
HOUSE_TEMPLATE = "7e000000-0000-4000-8000-0000000000f1"
HOUSE_MAILBOX = "7e000000-0000-4000-8000-0000000000f2"

BY_TEST = Actor(ActorType.SYSTEM, None, "Test")

TEMPLATES = f"""
- {{id: {INACTIVE_TEMPLATE}, kind: group, name: Old group, active: false}}
- id: {STRICT_TEMPLATE}
  kind: group
  name: Strict group
  naming: {{displayName: "A PREFIX OF THIRTY CHARACTERS {{input}}", mailNickname: "strict-{{input}}"}}
  memberShipTypeChangeable: false
  minimumOwners: 3
  customFields:
    - {{key: needed, label: Needed, type: text, required: true}}
    - {{key: choice, label: Choice, type: choice, choices: [{{value: a, label: A}}]}}
    - {{key: flag, label: Flag, type: boolean}}
    - {{key: person, label: Person, type: user}}
- id: {BENS_TEMPLATE}
  kind: group
  name: Group of Ben
  audience: {{users: [be000000-0000-4000-8000-000000000002]}}
"""


def furnish(worker_address: str) -> None:
    """Add what the example estate lacks: templates for every kind of fault, two templates and an administrator for the
    second tenant."""
    document = yaml.safe_load(example_estate())
    document["tenants"][0]["templates"] += yaml.safe_load(TEMPLATES)
    document["tenants"][1]["administrators"] = {"users": [ZOE]}
    document["tenants"][1]["templates"] = [
        {"id": HOUSE_TEMPLATE, "kind": "group", "name": "House group"},
        {"id": HOUSE_MAILBOX, "kind": "shared", "name": "House mailbox", "isDefault": True},
    ]
    configuration = read_configuration(yaml.safe_dump(document).encode())

    async def apply() -> None:
        database = await open_database(worker_address, most=1, name="test")
        try:
            await configuration_service(database).apply(configuration, actor=BY_TEST, trace_id=TraceId("0" * 32))
        finally:
            await database.close()

    asyncio.run(apply())
