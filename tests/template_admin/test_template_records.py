# SPDX-License-Identifier: Apache-2.0
"""Records of what is changed of a template, in which no secret is."""

from dataclasses import replace

import pytest

from chamberlain.auth.models import SERVICE
from chamberlain.changes.models import Change, Content, Subject
from chamberlain.core.errors import NotFound
from chamberlain.template_admin.models import (
    COLLAB,
    MAIL,
    SecretFate,
    SettledSecret,
    TemplateArea,
    TemplateRecord,
    created,
    default_lost,
    disabled,
    in_area,
    kind_faults,
    removed,
    replaced,
    secret_rotated,
)
from chamberlain.templates.models import FieldType, StoredTemplate, TemplateKind
from tests.auth.editor_values import EDITOR, NOW, TRACE
from tests.groups.group_values import GROUP_HEAD, TENANT

pytestmark = pytest.mark.pure

RECORD = TemplateRecord(StoredTemplate(GROUP_HEAD, b"{}"), NOW, SERVICE, NOW)
URL: Content = {"url": "https://hooks.example/"}
PLAIN: Content = {"id": "1", "name": "Project group"}
HOOKED: Content = {**PLAIN, "webhook": {**URL}}
SHOWN: Content = {"url": "https://hooks.example/", "secret": "***"}
KEPT = SettledSecret(SecretFate.KEPT, was_there=True)
ABSENT = SettledSecret(SecretFate.ABSENT, was_there=False)


def record_of(verb: str, before: Content | None, after: Content | None) -> Change:
    return Change(
        tenant_id=TENANT,
        action=verb,
        actor=EDITOR.actor,
        client_id=EDITOR.client_id,
        subject=Subject("template", GROUP_HEAD.id, "Project group"),
        before=before,
        after=after,
        request_id=None,
        trace_id=TRACE,
        client_address="192.0.2.1",
    )


@pytest.mark.parametrize(
    ("content", "fate", "after"),
    [
        (PLAIN, SecretFate.ABSENT, {"name": "Project group"}),
        (HOOKED, SecretFate.MADE, {"name": "Project group", "webhook": SHOWN}),
        (HOOKED, SecretFate.GIVEN, {"name": "Project group", "webhook": SHOWN}),
        (HOOKED, SecretFate.KEPT, {"name": "Project group", "webhook": URL}),
    ],
)
def test_it_works_for_a_new_one(content: Content, fate: SecretFate, after: Content) -> None:
    change = created(GROUP_HEAD, content, EDITOR, SettledSecret(fate, was_there=False))

    assert change == record_of("template.create", None, after)


@pytest.mark.parametrize(
    ("before", "after", "secret", "was", "became"),
    [
        (PLAIN, {**PLAIN, "name": "Group"}, ABSENT, {"name": "Project group"}, {"name": "Group"}),
        (HOOKED, HOOKED, KEPT, {}, {}),
        (HOOKED, HOOKED, SettledSecret(SecretFate.GIVEN, was_there=True), {"webhook": SHOWN}, {"webhook": SHOWN}),
        (HOOKED, HOOKED, SettledSecret(SecretFate.MADE, was_there=False), {"webhook": URL}, {"webhook": SHOWN}),
        (PLAIN, HOOKED, SettledSecret(SecretFate.MADE, was_there=False), {"webhook": None}, {"webhook": SHOWN}),
        (HOOKED, PLAIN, SettledSecret(SecretFate.REMOVED, was_there=True), {"webhook": SHOWN}, {"webhook": None}),
    ],
)
def test_it_works_for_one_that_changes(
    *, before: Content, after: Content, secret: SettledSecret, was: Content, became: Content
) -> None:
    change = replaced(GROUP_HEAD, before, after, editor=EDITOR, secret=secret)

    assert change == record_of("template.replace", was, became)


@pytest.mark.parametrize(
    ("content", "secret_number", "before"),
    [
        (PLAIN, None, {"name": "Project group"}),
        (HOOKED, None, {"name": "Project group", "webhook": URL}),
        (HOOKED, 2, {"name": "Project group", "webhook": SHOWN}),
    ],
)
def test_it_works_for_one_that_goes(content: Content, secret_number: int | None, before: Content) -> None:
    change = removed(replace(RECORD, secret_number=secret_number), content, EDITOR)

    assert change == record_of("template.delete", before, None)


def test_one_that_is_the_default_no_longer_has_changed() -> None:
    assert default_lost(GROUP_HEAD, EDITOR) == record_of("template.replace", {"isDefault": True}, {"isDefault": False})


@pytest.mark.parametrize(("was_there", "before"), [(True, "***"), (False, None)])
def test_a_new_secret_is_on_record(*, was_there: bool, before: str | None) -> None:
    change = secret_rotated(GROUP_HEAD, EDITOR, {"reason": "Lost."}, was_there=was_there)

    assert change == record_of("webhook.rotate", {"secret": before}, {"secret": "***", "reason": "Lost."})


def test_a_webhook_that_was_disabled_is_shown_so() -> None:
    assert disabled(HOOKED, "Gone.") == {**PLAIN, "webhook": {**URL, "active": False, "disabledReason": "Gone."}}
    assert disabled(HOOKED, None) == HOOKED
    assert disabled(PLAIN, "Gone.") == PLAIN


@pytest.mark.parametrize(
    ("secret_number", "disabled_reason", "etag"),
    [(None, None, '"1"'), (2, None, '"1-2"'), (None, "Gone.", '"1-disabled"'), (2, "Gone.", '"1-2-disabled"')],
)
def test_all_that_shows_makes_another_version(
    secret_number: int | None, disabled_reason: str | None, etag: str
) -> None:
    assert replace(RECORD, secret_number=secret_number, disabled_reason=disabled_reason).etag == etag


@pytest.mark.parametrize(
    ("kind", "area"),
    [
        (TemplateKind.SHARED, MAIL),
        (TemplateKind.EQUIPMENT, MAIL),
        (TemplateKind.ROOM, MAIL),
        (TemplateKind.GROUP, COLLAB),
        (TemplateKind.TEAM, COLLAB),
        (TemplateKind.GUEST, COLLAB),
    ],
)
def test_each_kind_is_in_one_area(kind: TemplateKind, area: TemplateArea) -> None:
    record = replace(RECORD, stored=StoredTemplate(replace(GROUP_HEAD, kind=kind), b"{}"))
    (other,) = {MAIL, COLLAB} - {area}

    assert in_area(record, area) is record
    for found, where in ((record, other), (None, area)):
        with pytest.raises(NotFound) as caught:
            in_area(found, where)
        assert caught.value.code == "notFound"


def test_a_template_stays_of_its_kind() -> None:
    assert list(kind_faults(RECORD, TemplateKind.GROUP)) == []
    assert [(fault.pointer, fault.code) for fault in kind_faults(RECORD, TemplateKind.TEAM)] == [
        ("/kind", "templateOfOtherKind")
    ]


def test_a_made_secret_is_not_shown_by_accident() -> None:
    assert "whsec" not in repr(replace(RECORD, made_secret="whsec_x"))


def test_the_api_shows_these_words() -> None:
    assert [str(each) for each in TemplateKind] == ["shared", "equipment", "room", "group", "team", "guest"]
    assert [str(each) for each in FieldType] == ["text", "boolean", "choice", "user"]
