# SPDX-License-Identifier: Apache-2.0
"""The example estate is what the documentation says it is."""

from chamberlain.configuration.files import read_configuration
from chamberlain.core.ids import TenantId
from chamberlain.embedded.directory.estate import read_estate
from chamberlain.embedded.example import example_estate
from chamberlain.embedded.identity.clients import read_clients
from chamberlain.templates.rules import compile_group_template
from chamberlain.templates.schema import GroupTemplateShape, MailboxTemplateShape, to_group_template

CONFIGURATION = read_configuration(example_estate())


def test_it_works_for_the_tenants_and_their_templates() -> None:
    first, second = CONFIGURATION.tenants
    ids = {str(each.id)[-2:]: each.name for each in first.templates or ()}

    assert (first.tenant.name, first.tenant.domains) == ("Example Estate", ("estate.example", "rooms.estate.example"))
    assert (second.tenant.name, second.tenant.domains) == ("Other House", ("other.example",))
    assert ids == {
        "01": "Shared mailbox",
        "02": "Equipment",
        "03": "Room",
        "11": "Project group",
        "12": "Project team",
        "13": "Confidential team",
        "14": "Sales department",
        "21": "No guests",
        "22": "Partners",
    }
    assert {str(each.id)[-2:]: each.name for each in first.policies or ()} == {"01": "90 days", "02": "Yearly review"}
    defaults = [
        each.kind for each in first.templates or () if isinstance(each, MailboxTemplateShape) and each.is_default
    ]
    assert defaults == ["shared", "equipment", "room"]


def test_its_group_templates_can_be_used() -> None:
    shapes = [each for each in CONFIGURATION.tenants[0].templates or () if isinstance(each, GroupTemplateShape)]
    tenant_id = TenantId(CONFIGURATION.tenants[0].tenant.id)

    templates = [to_group_template(each, tenant_id=tenant_id, revision=1) for each in shapes]

    assert [compile_group_template(each).needs_properties for each in templates] == [False] * 4
    project, team, confidential, sales = templates
    assert [field.choices for field in project.custom_fields] == [(), ("internal", "customer")]
    assert not any(field.required for field in project.custom_fields)
    assert team.channels == ("General", "Planning")
    assert confidential.approval is not None
    assert (sales.member_ship_type, sales.member_ship_type_changeable) == (2, False)


def test_its_directory_can_be_read_by_the_embedded_directory() -> None:
    estate = read_estate(CONFIGURATION.directory)
    people = {user.display_name.split()[0]: user for user in estate.users}
    groups = {group.display_name: group for group in estate.groups}

    assert {name for name, user in people.items() if user.licenses} == {"Ada", "Ben", "Dara", "Eli", "Zoe"}
    assert people["Cleo"].manager == people["Ben"].id
    assert [people[name].department for name in ("Ben", "Cleo", "Dara", "Eli")] == [
        "Sales",
        "Sales",
        "Finance",
        "Engineering",
    ]
    assert people["Gil"].user_type == "Guest"
    assert groups["All staff"].owners == (people["Ada"].id,)
    assert set(groups["All staff"].members) == {user.id for name, user in people.items() if name != "Zoe"}
    assert [site.security_group_id for site in estate.sites] == [groups["Handbook"].id, groups["Suppliers"].id]
    assert [label.display_name for label in estate.labels] == ["Internal", "Confidential"]


def test_its_clients_can_be_read_by_the_embedded_identity_platform() -> None:
    command_line, console, mail_server, automation = read_clients(CONFIGURATION.clients)

    assert command_line.delegated["https://graph.estate.example"] == ("Group.Read.All", "User.Read.All")
    assert console.delegated["https://api.estate.example"] == command_line.delegated["https://api.estate.example"]
    assert mail_server.application == {"https://api.estate.example": ("requests/Replies.ReadWrite.All",)}
    assert automation.application["https://api.estate.example"] == (
        "admin/Mail.Manage.ReadWrite.All",
        "admin/Collab.Manage.ReadWrite.All",
        "directory/People.ReadWrite.All",
    )


def test_it_holds_no_secret() -> None:
    assert b"secret:" not in example_estate().lower()
    assert b"password:" not in example_estate().lower()
