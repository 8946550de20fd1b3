# SPDX-License-Identifier: Apache-2.0
"""Names in many scripts: each gives an address that is valid, readable and its own."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.groups.rules import name_faults
from chamberlain.groups.rules import names_of as names_of_group
from chamberlain.mailboxes.rules import faults_without_directory
from chamberlain.templates.models import MailboxTemplate, TemplateKind
from chamberlain.templates.rules import compile_group_template
from tests.groups import group_values
from tests.mailboxes import mailbox_values
from tests.mailboxes.mailbox_values import EQUIPMENT, ROOM, SHARED, names_in, situation

pytestmark = pytest.mark.pure

SCRIPTS = {
    "Альфа Объект": "alfa-obekt",
    "Αίθουσα Αθήνα": "aithoysa-athina",
    "אולם ירושלים": "avlm-yrvslym",
    "قاعة الأمل": "qah-alaml",
    "会议室北京": "hui-yi-shi-bei-jing",
    "東京タワー": "dong-jing-tawa",
    "ひらがな カタカナ": "hiragana-katakana",
    "서울 회의실": "seoul-hoeuisil",
    "ห้องประชุม": "hongprachum",
    "बैठक कक्ष": "baithk-kks",
    "სხდომათა დარბაზი": "skhdomata-darbazi",
    "Դահլիճ": "dahlich",
    "đ ð þ ħ ŋ \N{LATIN SMALL LETTER DOTLESS I} œ": "d-d-th-h-ng-i-oe",
}
VALID = re.compile(r"[a-z0-9_](?:[a-z0-9._-]{0,62}[a-z0-9_])?")
TYPES = {TemplateKind.SHARED: SHARED, TemplateKind.ROOM: ROOM, TemplateKind.EQUIPMENT: EQUIPMENT}


def nickname_of_group(display_name: str, kind: TemplateKind) -> str | None:
    """The nickname of a group or team, or None if there is the fault nameTooLong alone."""
    head = replace(group_values.TEMPLATE.head, kind=kind)
    compiled = compile_group_template(replace(group_values.TEMPLATE, head=head))
    order = replace(group_values.ORDER, display_name=display_name)
    names = names_of_group(order, compiled, request_id=group_values.REQUEST, domain="estate.example", properties={})
    faults = [fault.code for fault in name_faults(names)]
    assert faults in ([], ["nameTooLong"])
    return None if faults else names.addresses[0].mail_nickname


def local_part_of_mailbox(name: str, template: MailboxTemplate) -> str | None:
    """The local part of a mailbox, or None if there is the fault nameTooLong alone."""
    it = situation(replace(mailbox_values.ORDER, name=name), template)
    names = names_in(it)
    faults = [fault.code for fault in faults_without_directory(it, names)]
    assert faults in ([], ["nameTooLong"])
    return None if faults else names.local_part


@pytest.mark.parametrize("kind", [TemplateKind.GROUP, TemplateKind.TEAM])
def test_it_works_for_groups_of_every_script(kind: TemplateKind) -> None:
    assert {name: nickname_of_group(name, kind) for name in SCRIPTS} == SCRIPTS
    assert len(set(SCRIPTS.values())) == len(SCRIPTS)


@pytest.mark.parametrize("template", TYPES.values(), ids=TYPES)
def test_it_works_for_mailboxes_of_every_script(template: MailboxTemplate) -> None:
    assert {name: local_part_of_mailbox(name, template) for name in SCRIPTS} == SCRIPTS


@given(st.text(min_size=1, max_size=256), st.sampled_from([TemplateKind.GROUP, TemplateKind.TEAM]))
def test_every_name_gives_a_group_its_address(display_name: str, kind: TemplateKind) -> None:
    assert VALID.fullmatch(nickname_of_group(display_name, kind) or "")


@given(st.text(min_size=1, max_size=64), st.sampled_from(list(TYPES.values())))
def test_every_name_gives_a_mailbox_its_address_or_one_fault(name: str, template: MailboxTemplate) -> None:
    local = local_part_of_mailbox(name, template)

    assert local is None or VALID.fullmatch(local)
