# SPDX-License-Identifier: Apache-2.0
"""Settings of groups and of the tenant, and their templates (resources/groupsetting.md)."""

from collections.abc import Mapping
from typing import Any, Final

from tests.microsoft365.fake.answers import NO_CONTENT, Answer, Call, bad_request, conflict, not_found
from tests.microsoft365.fake.membership import find_group, find_to_write
from tests.microsoft365.fake.pages import answer_list
from tests.microsoft365.fake.tenant import Tenant, settings
from tests.microsoft365.fake.writes import Json

Parts = Mapping[str, str]

# "Only the template named Group.Unified.Guest can be applied to specific groups" (group-post-settings.md, example 2).
GUEST_TEMPLATE: Final = "08d542b9-071f-4e16-94b0-74abb372e3d9"
_TENANT_TEMPLATE: Final = "62375ab9-6b52-47ed-826b-58e47e0e304b"
# The table of the tenant's own settings.
TENANT_SETTINGS: Final = ("settings", "")
_TEMPLATES: Final = (
    {
        "id": GUEST_TEMPLATE,
        "displayName": "Group.Unified.Guest",
        "description": "Settings for a specific Unified Group",
        "deletedDateTime": None,
        "values": [
            {
                "name": "AllowToAddGuests",
                "type": "System.Boolean",
                "defaultValue": "true",
                "description": "Allow guests.",
            }
        ],
    },
    {
        "id": _TENANT_TEMPLATE,
        "displayName": "Group.Unified",
        "description": "Settings for all Unified Groups of the tenant",
        "deletedDateTime": None,
        "values": [
            {"name": name, "type": kind, "defaultValue": value, "description": name}
            for name, kind, value in (
                ("AllowToAddGuests", "System.Boolean", "true"),
                ("EnableGroupCreation", "System.Boolean", "true"),
                ("EnableMIPLabels", "System.Boolean", "false"),
                ("PrefixSuffixNamingRequirement", "System.String", ""),
            )
        ],
    },
)


def list_templates(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """List templates (groupsettingtemplate-list.md)."""
    del tenant
    return answer_list(call, _TEMPLATES, "groupSettingTemplate", "groupSettingTemplates")


def list_tenant_settings(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """List the settings of the tenant (groupsetting-list.md)."""
    found = [each for _, each in tenant.read().items(TENANT_SETTINGS)]
    return answer_list(call, found, "groupSetting", "groupSettings")


def list_settings(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """List the settings of a group (groupsetting-list.md)."""
    view = tenant.read()
    group = find_group(view, parts["group-id"])
    found = [each for _, each in view.items(settings(str(group["id"])))]
    return answer_list(call, found, "groupSetting", "settings")


def create_setting(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Create a setting from the template for groups. A group has one of each template."""
    group = find_to_write(tenant, parts["group-id"])
    body: Mapping[str, Any] = call.body
    if body.get("templateId") != GUEST_TEMPLATE:
        raise bad_request("Invalid value specified for property 'templateId' of resource 'DirectorySetting'.")
    if "Unified" not in group["groupTypes"]:
        # "Group settings apply to only Microsoft 365 groups."
        raise bad_request("Settings cannot be applied to this group.")
    table = settings(str(group["id"]))
    if any(each["templateId"] == GUEST_TEMPLATE for _, each in tenant.latest().items(table)):
        raise conflict("templateId")
    setting: dict[str, Any] = {
        "id": tenant.new_id(),
        "displayName": None,
        "templateId": GUEST_TEMPLATE,
        "values": _read_values(body.get("values")),
    }
    tenant.log.put(table, setting["id"], setting)
    tenant.record("groupSetting", setting["id"], str(group["id"]))
    return Answer(201, {"@odata.context": f"{call.base}/$metadata#settings/$entity", **setting})


def update_setting(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Replace the values of a setting (groupsetting-update.md)."""
    table, setting_id = settings(parts["group-id"]), parts["groupSetting-id"]
    if tenant.read().get(table, setting_id) is None or tenant.latest().get(table, setting_id) is None:
        raise not_found(setting_id)
    tenant.change(table, setting_id, values=_read_values(call.body.get("values")))
    return NO_CONTENT


def delete_setting(tenant: Tenant, _call: Call, parts: Parts) -> Answer:
    """Delete a setting (groupsetting-delete.md)."""
    table, setting_id = settings(parts["group-id"]), parts["groupSetting-id"]
    if tenant.read().get(table, setting_id) is None or tenant.latest().get(table, setting_id) is None:
        raise not_found(setting_id)
    tenant.log.remove(table, setting_id)
    return NO_CONTENT


def _read_values(values: Json) -> list[dict[str, str]]:
    """Read values: "the entire collection of settingValues defined in the template", as texts."""
    if not isinstance(values, list) or {each.get("name") for each in values} != {"AllowToAddGuests"}:
        raise bad_request("Invalid value specified for property 'values' of resource 'DirectorySetting'.")
    if values[0].get("value") not in {"true", "false", "True", "False"}:
        raise bad_request("Invalid value specified for property 'AllowToAddGuests'.")
    return [{"name": "AllowToAddGuests", "value": str(values[0]["value"])}]
