# SPDX-License-Identifier: Apache-2.0
"""The form of a template: its fields, values and body."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec import UNSET, json

from chamberlain.console.fields import YES_OR_NO, Field, Option, Section, Widget, group_sections, mailbox_sections
from chamberlain.console.forms import Kind, Pairs, fault_of, general_faults, read_body, write_pairs
from chamberlain.console.words import N_
from chamberlain.core.errors import Fault
from chamberlain.core.validation import join_pointer
from chamberlain.core.values import Json
from chamberlain.template_admin.models import OfferedTemplate
from chamberlain.template_admin.wire import (
    FormField,
    GroupTemplateForm,
    MailboxTemplateForm,
    encode_group_form,
    encode_mailbox_form,
)
from chamberlain.templates.models import MAILBOX_KINDS, FieldType

PERMISSIONS: Final = "/permissions"
_NAME: Final = "/name"
# The longest name of a mailbox. A display name may be longer.
_LONGEST_NAME: Final = 64
_CUSTOM: Final = N_("Additional details")


@dataclass(frozen=True, slots=True)
class OrderForm:
    """The form of a template.

    `defaults` are the properties that a request gets which does not send them.
    """

    template: MailboxTemplateForm | GroupTemplateForm
    sections: Sequence[Section]
    defaults: Mapping[str, Json] = field(default_factory=dict)

    @property
    def fields(self) -> Sequence[Field]:
        """Return the fields of all sections."""
        return [each for section in self.sections for each in section.fields]

    @property
    def has_short_name(self) -> bool:
        """Return whether the form has a field for the short name."""
        return any(each.pointer == _NAME for each in self.fields)

    def fill(self, body: Mapping[str, Json] | None = None) -> Pairs:
        """Return the values of a new form.

        They are the defaults of the template, replaced by those of an earlier body.
        """
        values = {**self.defaults, **(body or {})}
        if values.get("name") == _derived_name(values.get("displayName")):
            values.pop("name", None)
        return self.known(write_pairs(values))

    def known(self, pairs: Pairs) -> Pairs:
        """Return the values of fields of this form."""
        kinds = self._kinds(pairs)
        return [(name, value) for name, value in pairs if name in kinds]

    def read(self, pairs: Pairs) -> dict[str, Json]:
        """Build the body of a filled form.

        A property with a default that was emptied is sent empty, so that the default does not return.
        """
        body = read_body(pairs, self._kinds(pairs))
        body["templateId"] = str(self.template.id)
        for name, default in self.defaults.items():
            if name not in body and (empty := self._emptied(name, default)) is not None:
                body[name] = empty
        metadata, kept = body.get("metadata"), self._unlisted_metadata()
        if isinstance(metadata, dict) and kept:
            body["metadata"] = {**kept, **metadata}
        if isinstance(self.template, MailboxTemplateForm) and "name" not in body:
            name_of_display_name = _derived_name(body.get("displayName"))
            if name_of_display_name:
                body["name"] = name_of_display_name
        return body

    def place(self, faults: Iterable[Fault]) -> tuple[Mapping[str, Fault], Sequence[Fault]]:
        """Return the first fault of each field, and those without a field.

        The name of a mailbox without a field for it is made of the display name.
        """
        pointers = [each.pointer for each in self.fields]
        found = [each if each.pointer != _NAME or _NAME in pointers else _moved(each) for each in faults]
        if any(each.pointer == "/displayName" for each in found):
            found = [each for each in found if each.pointer != _NAME or each.code != "missingProperty"]
        placed = {pointer: fault for pointer in pointers if (fault := fault_of(pointer, found)) is not None}
        return placed, general_faults(pointers, found)

    def _kinds(self, pairs: Pairs) -> Mapping[str, Kind]:
        kinds = {each.name: each.kind for each in self.fields}
        if PERMISSIONS in kinds:
            del kinds[PERMISSIONS]
            kinds |= {name: Kind.TEXT for name, _ in pairs if name.startswith(f"{PERMISSIONS}/")}
        return kinds

    def _emptied(self, name: str, default: Json) -> Json:
        shown = [each for each in self.fields if each.pointer == f"/{name}" or each.pointer.startswith(f"/{name}/")]
        if not shown:
            return None
        match default:
            case str() if shown[0].widget in (Widget.TEXT, Widget.LINES):
                return ""
            case list():
                return []
            case dict():
                return {}
            case _:
                return None

    def _unlisted_metadata(self) -> Mapping[str, Json]:
        metadata = self.defaults.get("metadata")
        if not isinstance(metadata, dict):
            return {}
        shown = {each.pointer for each in self.fields}
        return {key: value for key, value in metadata.items() if join_pointer("/metadata", key) not in shown}


def make_order_form(offered: OfferedTemplate) -> OrderForm:
    """Build the form of an offered template."""
    return _mailbox_form(offered) if offered.stored.head.kind in MAILBOX_KINDS else _group_form(offered)


def _mailbox_form(offered: OfferedTemplate) -> OrderForm:
    template = encode_mailbox_form(offered)
    defaults: dict[str, Json] = json.decode(json.encode(template.defaults))
    if template.domain is not None:
        defaults["domain"] = template.domain
    sections = mailbox_sections(
        template.kind, address_follows_rule=template.address_follows_rule, domains=template.domains
    )
    return OrderForm(template, _completed(sections, template.custom_fields, defaults), defaults)


def _group_form(offered: OfferedTemplate) -> OrderForm:
    template = encode_group_form(offered)
    labels = [Option(each.id, each.display_name, is_verbatim=True) for each in template.labels or ()]
    sections = group_sections(
        template.kind,
        member_ship_type=template.member_ship_type,
        is_changeable=template.member_ship_type_changeable,
        minimum_owners=template.minimum_owners,
        labels=labels,
    )
    defaults: dict[str, Json] = {"memberShipType": int(template.member_ship_type)}
    if template.label_id is not None:
        defaults["labelId"] = template.label_id
    return OrderForm(template, _completed(sections, template.custom_fields, defaults), defaults)


def _completed(
    sections: Sequence[Section], custom: Sequence[FormField], defaults: Mapping[str, Json]
) -> Sequence[Section]:
    """Add the custom fields after the basics.

    Fields are marked by the defaults.
    """
    own = tuple(_custom_field(each) for each in custom)
    pointers = {each.pointer for each in own}
    values = dict(write_pairs(defaults))
    all_sections = [*sections[:1], *([Section(_CUSTOM, own)] if own else []), *sections[1:]]
    return [
        replace(
            section,
            fields=tuple(
                _marked(each, values.get(each.pointer))
                for each in section.fields
                # A custom field replaces the built-in field of its key.
                if each in own or each.pointer not in pointers
            ),
        )
        for section in all_sections
    ]


def _marked(shown: Field, default: str | None) -> Field:
    return replace(
        shown,
        is_answered=shown.widget is Widget.CHECK and default == "true",
        is_settled=shown.widget is Widget.SELECT and default is not None,
    )


def _custom_field(each: FormField) -> Field:
    pointer = join_pointer("/metadata", each.key)
    widget, options = Widget.TEXT, tuple[Option, ...]()
    match each.type:
        case FieldType.BOOLEAN:
            widget = Widget.CHOICE if each.required else Widget.CHECK
            options = YES_OR_NO if each.required else ()
        case FieldType.CHOICE:
            widget = Widget.SELECT
            choices = () if each.choices is UNSET else each.choices
            options = tuple(Option(choice.value, choice.label, is_verbatim=True) for choice in choices)
        case FieldType.USER:
            widget = Widget.PERSON
        case FieldType.TEXT:
            pass
    return Field(pointer, each.label, widget, required=each.required, options=options, is_verbatim=True)


def _derived_name(display_name: Json) -> str:
    """Return the name of a mailbox that its display name gives."""
    return display_name.replace("@", " ").strip()[:_LONGEST_NAME].strip() if isinstance(display_name, str) else ""


def _moved(fault: Fault) -> Fault:
    return replace(fault, pointer="/displayName")
