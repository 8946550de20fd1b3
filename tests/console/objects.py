# SPDX-License-Identifier: Apache-2.0
"""Objects for the parameters of paths: those of the own tenant, and those of another one."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from chamberlain.app.maintenance import configuration_service
from chamberlain.configuration.files import read_configuration
from chamberlain.core.ids import TraceId
from chamberlain.database.transactions import open_database
from chamberlain.embedded.example import example_estate
from tests.service.estate import BY_TEST, HOUSE_TEMPLATE, OTHER_HOUSE, ZOE
from tests.services import ADA_MAIL, APPROVED_TEMPLATE, GROUP_TEMPLATE, ZOE_MAIL, Service, wait_until

DARA_MAIL = "dara@estate.example"
# Users who see all pages between them: an administrator, and an approver.
VISITORS = (ADA_MAIL, DARA_MAIL)


@dataclass(frozen=True, slots=True)
class Objects:
    """Values of the parameters of paths, by name."""

    values: Mapping[str, str]

    def fill(self, path: str) -> str:
        """Put the values in the place of the parameters. A new parameter needs a value in this file."""
        return re.sub(r"\{(\w+)\}", lambda found: self.values[found[1]], path)


def own_objects(service: Service, name: str = "Orchard") -> Objects:
    """Make objects of Ada, which Dara approves."""
    return Objects(
        {
            "area": "collab",
            "template_id": GROUP_TEMPLATE,
            "request_id": _request(service, ADA_MAIL, APPROVED_TEMPLATE, name),
        }
    )


def foreign_objects(service: Service, name: str) -> Objects:
    """Make objects of Zoe, of another tenant, with this name."""
    _add_template(service, name)
    return Objects(
        {
            "area": "collab",
            "template_id": HOUSE_TEMPLATE,
            "request_id": _request(service, ZOE_MAIL, HOUSE_TEMPLATE, name),
        }
    )


def _request(service: Service, address: str, template_id: str, name: str) -> str:
    body = {"displayName": name, "description": name, "templateId": template_id}
    answer = service.post_group(body, address)
    assert answer.status_code == 202, answer.text
    request_id = str(answer.json()["requestId"])
    if template_id == APPROVED_TEMPLATE:
        wait_until(lambda: request_id in service.get("/requests/v1/?toDecide=true", DARA_MAIL).text, 20, service.said)
    return request_id


def _add_template(service: Service, name: str) -> None:
    add_templates(service, [{"id": HOUSE_TEMPLATE, "kind": "group", "name": name}])


def add_templates(service: Service, templates: Sequence[Mapping[str, object]]) -> None:
    """Add templates to the other tenant, as an operator does."""
    (tenant,) = [each for each in yaml.safe_load(example_estate())["tenants"] if each["id"] == OTHER_HOUSE]
    tenant["administrators"] = {"users": [ZOE]}
    tenant["templates"] = list(templates)
    configuration = read_configuration(yaml.safe_dump({"tenants": [tenant]}).encode())

    async def apply() -> None:
        database = await open_database(service.embedded_addresses.worker, most=1, name="test")
        try:
            await configuration_service(database).apply(configuration, actor=BY_TEST, trace_id=TraceId("0" * 32))
        finally:
            await database.close()

    asyncio.run(apply())
