# SPDX-License-Identifier: Apache-2.0
"""Texts that show nothing, or other text than they have: refused when they are sent, kept where they are stored."""

import json
import re
import unicodedata

import pytest
from msgspec import inspect

from chamberlain.app.routes import ENDPOINTS
from chamberlain.core.errors import BodyInvalid
from chamberlain.core.text import INVISIBLE, is_blank
from chamberlain.core.validation import strict_form, walk_types
from chamberlain.groups.wire import GROUP
from chamberlain.mailboxes.wire import MAILBOX
from chamberlain.template_admin.documents import COLLAB_TEMPLATE

pytestmark = pytest.mark.pure

TEMPLATE = "7e000000-0000-4000-8000-000000000013"
DIRECTIONS = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
READERS = {"group": GROUP.read, "mailbox": MAILBOX.read, "template": COLLAB_TEMPLATE.read}
BODIES: dict[str, dict[str, object]] = {
    "group": {"displayName": "Apollo", "templateId": TEMPLATE},
    "mailbox": {"name": "Desk", "displayName": "Desk"},
    "template": {"kind": "team", "name": "Team"},
}
NOTHING = [("/name", "missingProperty"), ("/displayName", "missingProperty")]
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def faults_of(kind: str, change: dict[str, object], *, escaped: bool) -> list[tuple[str, str]]:
    body = json.dumps(BODIES[kind] | change, ensure_ascii=escaped).encode()
    try:
        READERS[kind](body)
    except BodyInvalid as error:
        return [(fault.pointer, fault.code) for fault in error.faults]
    return []


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    ("kind", "change", "faults"),
    [
        ("group", {"displayName": "\u200b"}, [("/displayName", "missingProperty")]),
        ("group", {"displayName": "\ufeff \u00ad"}, [("/displayName", "missingProperty")]),
        ("group", {"displayName": "\U000e0041"}, [("/displayName", "missingProperty")]),
        ("mailbox", {"name": "\u3164", "displayName": "\u2800"}, NOTHING),
        ("template", {"naming": {"mailNickname": "\u2060"}}, [("/naming/mailNickname", "invalidText")]),
        ("template", {"channels": ["A", "\u200d"]}, [("/channels/1", "invalidText")]),
        ("group", {"displayName": "evil\u202egnp.exe"}, [("/displayName", "invalidText")]),
        ("group", {"description": "a\n\u2066b"}, [("/description", "invalidText")]),
        ("group", {"metadata": {"a\u2069": "x"}}, [("/metadata/a\u2069", "invalidText")]),
        ("group", {"metadata": {"a": "\u202a"}}, [("/metadata/a", "invalidText")]),
        ("mailbox", {"businessPhones": ["1", "\u202a2"]}, [("/businessPhones/1", "invalidText")]),
        ("mailbox", {"automaticReply": "\u2067"}, [("/automaticReply", "invalidText")]),
        ("mailbox", {"domain": ""}, [("/domain", "outOfBounds")]),
        ("mailbox", {"tags": ["a", ""]}, [("/tags/1", "outOfBounds")]),
        # A family, and a mark of direction that embeds nothing, are visible texts.
        ("group", {"displayName": FAMILY, "description": "\u05d0\u200f!"}, []),
        ("mailbox", {"notes": "", "metadata": {"a": ""}, "city": ""}, []),
    ],
)
def test_it_works(kind: str, change: dict[str, object], faults: list[tuple[str, str]], *, escaped: bool) -> None:
    assert faults_of(kind, change, escaped=escaped) == faults


@pytest.mark.parametrize("character", DIRECTIONS)
def test_every_text_of_every_body_refuses_bidirectional_controls(character: str) -> None:
    texts = [
        (type_, part)
        for endpoint in ENDPOINTS
        if endpoint.shape is not None
        for type_ in endpoint.shape.types
        for form in [inspect.type_info(type_)]
        if isinstance(form, inspect.StructType)
        for part in walk_types(strict_form(form))
        if isinstance(part, inspect.StrType)
    ]

    assert len(texts) > 100
    assert [type_ for type_, part in texts if part.pattern is None or re.search(part.pattern, f"a{character}b")] == []


def test_a_body_that_an_earlier_version_accepted_is_read_as_it_was() -> None:
    group = BODIES["group"] | {"displayName": "a\u202eb", "metadata": {"\u2066": "\u200b"}}
    mailbox = BODIES["mailbox"] | {"domain": "", "tags": [""], "displayName": "\u200b"}

    assert GROUP.read_stored(json.dumps(group).encode()).display_name == "a\u202eb"
    assert MAILBOX.read_stored(json.dumps(mailbox).encode()).display_name == "\u200b"


def test_every_invisible_character_is_found_in_both_spellings() -> None:
    invisible = [chr(code) for code in range(0x110000) if re.match(f"[{INVISIBLE}]", chr(code))]

    for character in invisible[:150] + invisible[-1:]:
        assert is_blank(character), hex(ord(character))
        for escaped in (True, False):
            change: dict[str, object] = {"displayName": character}
            assert faults_of("group", change, escaped=escaped) == [("/displayName", "missingProperty")]
    # All other format characters have a visible form.
    others = [
        each for each in map(chr, range(0x110000)) if unicodedata.category(each) == "Cf" and each not in invisible
    ]
    assert all(unicodedata.name(each).startswith(("ARABIC ", "SYRIAC ", "KAITHI ", "EGYPTIAN ")) for each in others)
