# SPDX-License-Identifier: Apache-2.0
import re
import unicodedata
from collections.abc import Mapping
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.core.ids import RequestId
from chamberlain.templates.models import CallerProperty, Counter, Input, MetadataValue
from chamberlain.templates.rules import (
    LOCAL_PART_LENGTH,
    NamingRuleInvalid,
    expand,
    local_part,
    mail_nickname,
    parse_naming_rule,
    second_nickname,
)

pytestmark = pytest.mark.pure

REQUEST = RequestId(UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10"))


def test_it_works() -> None:
    rule = parse_naming_rule("{user.department}-{input}-{metadata.el-text-1}-{counter:4}")

    made = expand(rule, given="Apollo", metadata={"el-text-1": "Moon"}, properties={"department": "Sales"}, number=42)

    assert made == "Sales-Apollo-Moon-0042"


def test_it_parses_a_rule_into_parts() -> None:
    rule = parse_naming_rule("a {input}{metadata.x.y}{user.jobTitle}{counter:3}!")

    assert rule.parts == ("a ", Input(), MetadataValue("x.y"), CallerProperty("jobTitle"), Counter(3), "!")
    assert (rule.needs_counter, rule.needs_properties) == (True, True)


def test_it_knows_what_a_plain_rule_needs() -> None:
    rule = parse_naming_rule("CONF-{input}")

    assert (rule.needs_counter, rule.needs_properties) == (False, False)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("Project", 0),
        ("{input} and {input}", 12),
        ("{input}{", 7),
        ("{input}}", 7),
        ("{{input}}", 0),
        ("{input} {Input}", 8),
        ("{input}{}", 7),
        ("{input}{metadata.}", 7),
        ("{input}{metadata}", 7),
        ("{input}{user.}", 7),
        ("{input}{user.a b}", 7),
        ("{input}{user.office-location}", 7),
        ("{input}{counter}", 7),
        ("{input}{counter:}", 7),
        ("{input}{counter:0}", 7),
        ("{input}{counter:19}", 7),
        ("{input}{counter:-1}", 7),
        ("{input}{counter:٤}", 7),
        ("{input}{counter:99999999999999999999}", 7),
        ("{input}{tenant.name}", 7),
    ],
)
def test_it_rejects_what_is_no_rule(text: str, position: int) -> None:
    with pytest.raises(NamingRuleInvalid) as caught:
        parse_naming_rule(text)

    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "metadata", "properties", "number", "made"),
    [
        ("{input}", {}, {}, None, "Apollo"),
        ("{user.department} {input}", {}, {}, None, " Apollo"),
        ("{input}{metadata.absent}", {"other": "x"}, {}, None, "Apollo"),
        ("{input} {metadata.secret}", {"secret": True}, {}, None, "Apollo true"),
        ("{input} {metadata.secret}", {"secret": False}, {}, None, "Apollo false"),
        ("{input} {metadata.a/b~c}", {"a/b~c": "x"}, {}, None, "Apollo x"),
        ("{input}-{counter:2}", {}, {}, 7, "Apollo-07"),
        ("{input}-{counter:2}", {}, {}, 12345, "Apollo-12345"),
        ("{input}-{counter:4}", {}, {}, None, "Apollo-0000"),
    ],
)
def test_it_expands(
    text: str, metadata: Mapping[str, str | bool], properties: Mapping[str, str], number: int | None, made: str
) -> None:
    rule = parse_naming_rule(text)

    assert expand(rule, given="Apollo", metadata=metadata, properties=properties, number=number) == made


@given(
    st.sampled_from(["{counter:4}", "{input}", "{metadata.a}", "{user.b}", "}", "{", "{{input}}"]),
    st.text(),
)
def test_it_expands_once(placeholder: str, text: str) -> None:
    rule = parse_naming_rule("<{input}|{metadata.a}|{user.b}>")
    sent = placeholder + text

    made = expand(rule, given=sent, metadata={"a": sent}, properties={"b": sent}, number=None)

    assert made == f"<{sent}|{sent}|{sent}>"


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("Zürich", "zurich"),
        ("Project Apollo", "project-apollo"),
        ("Straße", "strasse"),
        ("STRAẞE", "strasse"),
        ("Ærøskøbing", "aeroskobing"),
        ("Łódź", "lodz"),
        ("ǽ", "ae"),
        ("Ǿre", "ore"),
        ("İzmir", "izmir"),
        ("ﬁle", "file"),
        ("\uff11\uff12", "12"),
        ("a\u00a0b\u3000c\td", "a-b-c-d"),
        ("a  b", "a--b"),
        ("R&D", "rd"),
        ("v1..2...3", "v1.2.3"),
        ("a.&.b", "a.b"),
        ("..-a_b-..", "a_b"),
        ("_", "_"),
        ("it's (new)!", "its-new"),
        ("Zürich, 4. Stock", "zurich-4-stock"),
        ("a.-.b -. c", "a-b-c"),
        ("Team \N{GRINNING FACE}", "team"),
        ("\N{GRINNING FACE}\N{PARTY POPPER}", "grinning-tada"),
        ("€", "eur"),
        ("\u200b", None),
        (" . - ", None),
        ("", None),
    ],
)
def test_it_makes_local_parts(name: str, local: str | None) -> None:
    assert local_part(name) == local


@given(st.text())
def test_it_makes_only_good_local_parts_and_keeps_them(name: str) -> None:
    local = local_part(name)

    if local is not None:
        assert re.fullmatch(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?", local)
        assert ".." not in local
        assert local_part(local) == local


@given(st.text(st.characters(max_codepoint=0x24F), max_size=64))
def test_it_keeps_the_local_parts_of_latin_names(name: str) -> None:
    known = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "ł": "l"})
    small = unicodedata.normalize("NFKD", name).lower().translate(known)
    before = re.sub(r"[^a-z0-9._-]", "", re.sub(r"\s", "-", small))
    before = re.sub(r"\.\.+", ".", before).strip(".-")

    if before and ".-" not in before and "-." not in before and not re.search(r"[^\W\x00-\x7f]", small):
        assert local_part(name) == before


def test_it_gives_two_nicknames_for_a_display_name() -> None:
    nickname = mail_nickname("Project Apollo", substitute="group-1")

    assert (nickname, second_nickname(nickname, REQUEST)) == ("project-apollo", "project-apollo-0d9c1b7e")


def test_it_takes_the_substitute_when_nothing_is_left() -> None:
    assert mail_nickname("!!!", substitute="group-1") == "group-1"


def test_it_cuts_nicknames_of_long_display_names() -> None:
    first = mail_nickname("a" * 54 + " " + "b" * 8 + "." + "c" * 40, substitute="group-1")

    # Neither a dot nor a dash is left at the end of what was cut.
    assert first == "a" * 54 + "-" + "b" * 8
    assert second_nickname(first, REQUEST) == "a" * 54 + "-0d9c1b7e"


@given(st.text(min_size=1, max_size=256))
def test_it_gives_nicknames_that_fit_an_address(display_name: str) -> None:
    first = mail_nickname(display_name, substitute="group-1")

    for nickname in (first, second_nickname(first, REQUEST)):
        assert len(nickname) <= LOCAL_PART_LENGTH
        assert local_part(nickname) == nickname
