# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from chamberlain.templates.models import CustomField, FieldType
from chamberlain.templates.rules import Metadata, default_faults, field_faults, named_users, unknown_user_faults
from tests.groups.group_values import ADA, BEN

pytestmark = pytest.mark.pure

TEXT = CustomField("el-text-1", "Customer", FieldType.TEXT, required=False)
BOOLEAN = CustomField("secret", "Secret", FieldType.BOOLEAN, required=False)
CHOICE = CustomField("size", "Size", FieldType.CHOICE, required=False, choices=("small", "large"))
USER = CustomField("lead", "Lead", FieldType.USER, required=False)
REQUIRED = CustomField("a/b~c", "Odd", FieldType.TEXT, required=True)


def test_it_works() -> None:
    metadata: Metadata = {
        "el-text-1": "x",
        "secret": True,
        "size": "small",
        "lead": str(ADA),
        "free": "y",
        "flag": False,
    }

    assert list(field_faults([TEXT, BOOLEAN, CHOICE, USER], metadata)) == []


@pytest.mark.parametrize(
    ("field", "metadata"),
    [
        (TEXT, {"el-text-1": "x" * 1025}),
        (TEXT, {"el-text-1": True}),
        (BOOLEAN, {"secret": "true"}),
        (CHOICE, {"size": "Small"}),
        (CHOICE, {"size": ""}),
        (CHOICE, {"size": True}),
        (USER, {"lead": "ada"}),
        (USER, {"lead": True}),
        (USER, {"lead": f"{{{ADA}}}"}),
        (USER, {"lead": f"{ADA}\n"}),
    ],
)
def test_it_rejects_values_that_do_not_fit(field: CustomField, metadata: Metadata) -> None:
    faults = list(field_faults([field], metadata))

    assert [(fault.pointer, fault.code) for fault in faults] == [(f"/metadata/{field.key}", "customFieldInvalid")]


@pytest.mark.parametrize("metadata", [None, {}, {"other": "x"}, {"a/b~c": ""}, {"a/b~c": " \t"}, {"a/b~c": "\u200b"}])
def test_it_rejects_a_required_field_without_value(metadata: Metadata | None) -> None:
    faults = list(field_faults([REQUIRED], metadata))

    assert [(fault.pointer, fault.code) for fault in faults] == [("/metadata/a~1b~0c", "customFieldRequired")]


@pytest.mark.parametrize("metadata", [None, {}, {"el-text-1": ""}, {"el-text-1": "x" * 1024}, {"free": "x" * 2000}])
def test_it_handles_optional_fields(metadata: Metadata | None) -> None:
    assert list(field_faults([TEXT, BOOLEAN, CHOICE, USER], metadata)) == []


def test_it_handles_false_as_an_answer() -> None:
    required = CustomField("secret", "Secret", FieldType.BOOLEAN, required=True)

    assert list(field_faults([required], {"secret": False})) == []


def test_it_names_the_users_of_fields_in_any_letter_case() -> None:
    assert list(named_users([USER, TEXT], {"lead": str(ADA).upper(), "el-text-1": str(BEN)})) == [ADA]


def test_it_rejects_users_whom_nobody_knows() -> None:
    metadata = {"lead": str(ADA)}

    faults = list(unknown_user_faults([USER], metadata, {BEN}))

    assert [(fault.pointer, fault.code) for fault in faults] == [("/metadata/lead", "customFieldInvalid")]
    assert list(unknown_user_faults([USER], metadata, {ADA})) == []


@pytest.mark.parametrize(
    ("field", "metadata", "is_right"),
    [
        (TEXT, None, True),
        (TEXT, {"el-text-1": "x"}, True),
        (TEXT, {"el-text-1": "x" * 1025}, False),
        (BOOLEAN, {"secret": True}, True),
        (BOOLEAN, {"secret": "true"}, False),
        (CHOICE, {"size": "small"}, True),
        (CHOICE, {"size": "huge"}, False),
        (USER, {"lead": str(ADA)}, True),
        (USER, {"lead": "ada"}, False),
        # Callers fill in what is required.
        (replace(CHOICE, required=True), {"size": " "}, True),
        (replace(CHOICE, required=True), {"size": "huge"}, False),
        (replace(CHOICE, required=True), {}, True),
        # A choice without choices is a fault elsewhere.
        (replace(CHOICE, choices=()), {"size": "huge"}, True),
    ],
)
def test_the_values_of_a_template_fit_its_own_fields(
    field: CustomField, metadata: Metadata | None, *, is_right: bool
) -> None:
    faults = list(default_faults([field], metadata, "/defaults"))

    assert [(fault.pointer, fault.code) for fault in faults] == (
        [] if is_right else [(f"/defaults/metadata/{field.key}", "customFieldInvalid")]
    )
