# SPDX-License-Identifier: Apache-2.0
import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.core.directory_filters import Equals, Filter, HasAddress, HasType, Path, StartsWith
from chamberlain.core.expressions import AllOf, AnyOf, Not
from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.filters import (
    GROUP_VOCABULARY,
    GROUPS,
    Parameters,
    condition_of,
    read_filter,
)

NAME = Path(None, "displayName")
MARK = Path("chamberlain_group", "requestId")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("displayName eq 'x'", Equals(NAME, ("x",))),
        ("  displayName   eq 'x'  ", Equals(NAME, ("x",))),
        ("displayName eq 'it''s'", Equals(NAME, ("it's",))),
        ("displayName eq ''", Equals(NAME, ("",))),
        ("displayName eq null", Equals(NAME, (None,))),
        ("displayName ne 'x'", Not(Equals(NAME, ("x",)))),
        ("displayName in ('x', 'y')", Equals(NAME, ("x", "y"))),
        ("chamberlain_group/requestId eq 'x'", Equals(MARK, ("x",))),
        ("startswith(displayName, 'x')", StartsWith(NAME, "x")),
        ("startswith(chamberlain_group/requestId,'x')", StartsWith(MARK, "x")),
        ("groupTypes/any(c:c eq 'Unified')", HasType("Unified")),
        ("groupTypes/any(x : x eq 'Unified')", HasType("Unified")),
        ("proxyAddresses/any(p:p eq 'smtp:a@b.example')", HasAddress("smtp:a@b.example")),
        ("not displayName eq 'x'", Not(Equals(NAME, ("x",)))),
        ("not(displayName eq 'x')", Not(Equals(NAME, ("x",)))),
        (
            "displayName eq 'x' or displayName eq 'y' and displayName eq 'z'",
            AnyOf((Equals(NAME, ("x",)), AllOf((Equals(NAME, ("y",)), Equals(NAME, ("z",)))))),
        ),
        (
            "(displayName eq 'x' or displayName eq 'y') and displayName eq 'z'",
            AllOf((AnyOf((Equals(NAME, ("x",)), Equals(NAME, ("y",)))), Equals(NAME, ("z",)))),
        ),
        ("displayName eq 'a or b and (c'", Equals(NAME, ("a or b and (c",))),
    ],
)
def test_it_works(text: str, expected: Filter) -> None:
    assert read_filter(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "house_group/requestId eq 'ABC-1'",
        "house_group/requestId eq ''",
        "house_group/requestId eq 'with a\nline'",
        "house_group/requestId eq 'O''Neil'",
        "house_group/requestId eq 'a' or house_group/requestId eq 'b'",
        "groupTypes/some eq 'Unified'",
        "groupTypes/any eq 'Unified'",
        "startswith/x eq 'a'",
        "not/x eq 'a'",
        "not house_group/requestId eq 'a'",
        "house_group/requestId eq 'a'x",
        "house_group/request-id eq 'a'",
        "1house/requestId eq 'a'",
    ],
)
def test_the_common_filter_equals_the_parsed_one(text: str) -> None:
    # The shortcut does not match a filter with a leading space.
    assert _read(text) == _read(f" {text}")


def _read(text: str) -> Filter | str:
    try:
        return read_filter(text)
    except BadQuery as error:
        return re.sub(r" at position .*", "", error.detail)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 1),
        ("displayName", 12),
        ("displayName eq", 15),
        ("displayName eq x", 16),
        ('displayName eq "x"', 16),
        ("displayName eq 'x", 16),
        ("displayName like 'x'", 13),
        ("displayName EQ 'x'", 13),
        ("displayName eq 'x' displayName eq 'y'", 20),
        ("(displayName eq 'x'", 20),
        ("displayName eq 'x')", 19),
        ("displayName in 'x'", 16),
        ("displayName in ()", 17),
        ("displayName in ('x'", 20),
        ("startswith(displayName 'x')", 24),
        ("groupTypes/any(c:d eq 'Unified')", 18),
        ("groupTypes/any(c:c ne 'Unified')", 20),
        ("displayName eq 'x'; DROP TABLE groups", 19),
        ("password eq 'x'", 1),
        ("a/b/c eq 'x'", 4),
    ],
)
def test_it_rejects_with_the_position(text: str, position: int) -> None:
    with pytest.raises(BadQuery) as rejected:
        read_filter(text)

    assert f"position {position} " in rejected.value.detail


@pytest.mark.parametrize(
    "text",
    [
        "(" * 40 + "displayName eq 'x'" + ")" * 40,
        "not " * 40 + "displayName eq 'x'",
        f"displayName eq '{'x' * 3000}'",
        f"displayName in ({','.join(['null'] * 101)})",
    ],
)
def test_it_rejects_deep_and_long_filters(text: str) -> None:
    with pytest.raises(BadQuery) as rejected:
        read_filter(text)

    assert rejected.value.code == "Request_UnsupportedQuery"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


names = st.from_regex(r"zz[a-z]{6,10}", fullmatch=True)
# Contains a letter that no fixed piece of a statement has, to detect a value in the statement.
texts = st.text(max_size=12).map(lambda text: f"§{text}")
paths = st.one_of(
    st.sampled_from(sorted(GROUP_VOCABULARY.properties)), st.builds(lambda a, b: f"{a}/{b}", names, names)
)
comparisons = st.one_of(
    st.builds(lambda path, how, text: f"{path} {how} {quoted(text)}", paths, st.sampled_from(["eq", "ne"]), texts),
    st.builds(
        lambda path, many: f"{path} in ({','.join(map(quoted, many))})", paths, st.lists(texts, min_size=1, max_size=4)
    ),
    st.builds(lambda path, text: f"startswith({path},{quoted(text)})", paths, texts),
    st.builds(lambda text: f"groupTypes/any(c:c eq {quoted(text)})", texts),
    st.builds(lambda text: f"proxyAddresses/any(c:c eq {quoted('smtp:' + text)})", texts),
)
random_filters = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"{a} and {b}", inner, inner),
        st.builds(lambda a, b: f"({a} or {b})", inner, inner),
        st.builds(lambda a: f"not({a})", inner),
    ),
    max_leaves=6,
)


@given(random_filters)
def test_all_values_are_parameters(text: str) -> None:
    parameters = Parameters(["the tenant"])

    condition = condition_of(read_filter(text), parameters, GROUPS)

    assert "§" not in condition
    assert "zz" not in condition
    # Every parameter is used, and there is no other number.
    assert {f"${number}" for number in range(2, len(parameters) + 1)} <= {
        word.partition("::")[0].strip("(),") for word in condition.replace("(", " ").split() if "$" in word
    }


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=60))
def test_it_parses_or_rejects_any_text(text: str) -> None:
    with contextlib.suppress(BadQuery):
        condition_of(read_filter(text), Parameters(["the tenant"]), GROUPS)
