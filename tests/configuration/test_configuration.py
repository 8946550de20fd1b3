# SPDX-License-Identifier: Apache-2.0
"""The contents of configuration files, and the errors of invalid ones."""

import re
import tracemalloc

import pytest

from chamberlain.configuration.files import (
    MOST_FILE_FAULTS,
    ConfigurationFile,
    ConfigurationInvalid,
    read_configuration,
    read_configurations,
)
from chamberlain.configuration.yaml import MOST_BYTES
from chamberlain.tenants.schema import to_issuers, to_tenant

TENANT = b"""\
tenants:
  - id: e57a7e00-0000-4000-8000-000000000001
    name: Example Estate
    domains: [estate.example, rooms.estate.example]
    administrators: {users: [ada00000-0000-4000-8000-000000000001], groups: []}
    repair: {drift: false}
    extensionPrefix: estate
    issuers:
      - {issuer: "https://login.example.org/v2.0", tid: t1, audiences: {4f1c: "https://api.example.org"}}
"""


def _told(text: bytes) -> list[str]:
    with pytest.raises(ConfigurationInvalid) as caught:
        read_configuration(text)
    return str(caught.value).splitlines()


def test_it_works() -> None:
    configuration = read_configuration(TENANT + b"directory: {users: [{id: x, notes: null}]}\nclients: [{name: cli}]\n")

    (entry,) = configuration.tenants
    tenant = to_tenant(entry.tenant, revision=1, suspended=False)
    (issuer,) = to_issuers(entry.tenant)
    assert (tenant.name, tenant.default_domain, tenant.extension_prefix) == (
        "Example Estate",
        "estate.example",
        "estate",
    )
    assert {str(each) for each in tenant.administrator_users} == {"ada00000-0000-4000-8000-000000000001"}
    assert (issuer.tenant_id, issuer.tid, issuer.audiences) == (tenant.id, "t1", {"4f1c": "https://api.example.org"})
    assert configuration.directory == {"users": [{"id": "x", "notes": None}]}
    assert configuration.clients == ({"name": "cli"},)


@pytest.mark.parametrize("text", [b"", b"---\n", b"# nothing\n", b"tenants:\ndirectory:\nclients:\n"])
def test_it_handles_an_empty_file(text: bytes) -> None:
    configuration = read_configuration(text)

    assert (configuration.tenants, configuration.directory, configuration.clients) == ((), {}, ())


def test_it_reads_plain_values_as_people_mean_them() -> None:
    text = b"directory: {a: no, b: 12:30, c: 2026-11-20, d: true, e: 7, f: 1.5, g: '7', h: ~, i: 0x10, j: 2.0}\n"

    assert read_configuration(text).directory == {
        "a": "no", "b": "12:30", "c": "2026-11-20", "d": True, "e": 7, "f": 1.5, "g": "7", "h": None, "i": "0x10",
        "j": 2,
    }  # fmt: skip


def test_it_rejects_all_faults_with_line_and_path() -> None:
    text = TENANT + (
        b"    templates:\n"  # line 10
        b"      - {id: 7e000000-0000-4000-8000-000000000001, kind: shared, name: Shared, domain: foreign.example}\n"
        b"      - id: 7e000000-0000-4000-8000-000000000001\n"
        b"        kind: group\n"
        b"        name: 2026\n"
        b"        minimumOwner: 2\n"
        b"    policies:\n"
        b"      - id: 7e000000-0000-4000-8000-000000000001\n"
        b"        name: Ninety\n"
        b"teams: []\n"
    )

    assert _told(text) == [
        (
            'line 11, tenants[0].templates[0].domain: "foreign.example" is no domain of the tenant: '
            "expected one of estate.example, rooms.estate.example."
        ),
        (
            "line 14, tenants[0].templates[1].name: name must be a string, and is a whole number. "
            "Put it in quotation marks."
        ),
        (
            "line 15, tenants[0].templates[1].minimumOwner: There is no property minimumOwner. "
            "Did you mean minimumOwners?"
        ),
        (
            "line 17, tenants[0].policies[0].id: 7e000000-0000-4000-8000-000000000001 is there twice "
            "(first at line 11, tenants[0].templates[0].id). Each may be there once."
        ),
        "line 19, teams: There is no such section; known are tenants, directory, clients.",
    ]


def test_it_names_the_line_of_what_holds_a_missing_property() -> None:
    assert _told(b"tenants:\n  - name: Example\n    domains: [estate.example]\n") == [
        "line 2, tenants[0].id: id is required."
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"tenants: []\ntenants: []\n", 'line 2: "tenants" is there twice (first on line 1). Keep one of them.'),
        (b"directory: {a: &x 1}\n", "line 1: Anchors and aliases (& and *) are not read."),
        (b"directory: {a: 1}\nclients: *x\n", "line 2: Anchors and aliases (& and *) are not read."),
        (b"directory: !!python/object/apply:os.system [ls]\n", "line 1: Tags (tag:yaml.org,2002:python"),
        (b"directory: {a: !secret x}\n", "line 1: Tags (!secret) are not read."),
        (b"tenants: []\n---\ntenants: []\n", "line 2: A second document begins here."),
        (b"tenants: [\n", "line 2: This is not YAML:"),
        (b"tenants: []\nname: \xff\n", "line 2: This is not UTF-8."),
        (b"{[1]: 2}\n", "line 1: The name of a property is a text."),
        (b"directory: " + b"[" * 60 + b"]" * 60, "line 1: This is nested more than 40 levels deep."),
        (b"#" * (MOST_BYTES + 1), f"The file has more than {MOST_BYTES} bytes. Split it."),
        (b"- tenants\n", "line 1: An object is expected here"),
        (b'{"\\e[31m\\n": 1}\n', "line 1, \ufffd[31m\ufffd: There is no such section"),
        (b"tenants: {}\n", "line 1, tenants: A list is expected here"),
        (b"directory: []\n", "line 1, directory: An object is expected here"),
        (b"clients: [x]\n", "line 1, clients[0]: An object is expected here"),
        (b"directory:\n  a: b\x07c\n", "line 2: A character that YAML does not allow (U+0007) is here. Take it out."),
        (b"directory:\n  code: 0815\n", "line 2: 0815 begins with a zero. Put it in quotation marks if it is a text;"),
        (
            b"directory:\n  ? " + b"a" * 257 + b"\n  : 1\n",
            "line 2: The name of a property has more than 256 characters.",
        ),
        (b"directory:\n  <<: {a: 1}\n", "line 2: Merges (<<) are not read. Write the properties out."),
    ],
)
def test_it_rejects_what_is_no_configuration(text: bytes, told: str) -> None:
    (line,) = _told(text)

    assert line.startswith(told)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((b"estate.example,", b"Estate.Example,"), "tenants[0].domains[0]"),
        ((b"drift: false", b"drift: no"), "tenants[0].repair.drift"),
        (
            (b"drift: false", b"properties: {group.exists: managed}"),
            "tenants[0].repair.properties.group.exists",
        ),
        ((b"extensionPrefix: estate", b"extensionPrefix: 1st"), "tenants[0].extensionPrefix"),
        ((b"extensionPrefix: estate", b"limits: {groups: 1}"), "tenants[0].limits.groups"),
        ((b"extensionPrefix: estate", b"limits: {openRequests: 0}"), "tenants[0].limits.openRequests"),
        ((b"extensionPrefix: estate", b"applicability: ignore"), "tenants[0].applicability"),
        ((b"https://login", b"http://login"), "tenants[0].issuers[0].issuer"),
        ((b"extensionPrefix: estate", b"templates: [{kind: x}]"), "tenants[0].templates[0].kind"),
        ((b"extensionPrefix: estate", b"templates: [x]"), "tenants[0].templates[0]"),
    ],
)
def test_it_rejects_a_tenant_of_another_shape(change: tuple[bytes, bytes], told: str) -> None:
    (line,) = _told(TENANT.replace(*change, 1))

    assert re.match(rf"line \d+, {re.escape(told)}: ", line)


@pytest.mark.parametrize("name", [b"815", b"8.15", b"true"])
def test_it_tells_how_what_looks_like_a_number_becomes_a_text(name: bytes) -> None:
    (line,) = _told(TENANT.replace(b"Example Estate", name))

    assert line.startswith("line 3, tenants[0].name: ")
    assert line.endswith(" Put it in quotation marks.")


def test_it_reads_deep_documents_in_little_memory() -> None:
    name, levels = b"a" * 250, 38
    text = b"directory: " + (b"{" + name + b": ") * levels + b"[" + b"1," * 20_000 + b"]" + b"}" * levels

    tracemalloc.start()
    read_configurations([ConfigurationFile(None, text)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # The pointers of all parts have 200 MB.
    assert peak < 32 * 1024**2


def test_it_reports_a_limited_number_of_unreadable_texts() -> None:
    text = b'directory: {a: ["\\u202e"' + b', "\\u202e"' * 5_000 + b"]}"

    assert len(_told(text)) == MOST_FILE_FAULTS


def test_it_tells_both_lines_when_one_file_is_named_twice() -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        read_configurations([ConfigurationFile("a.yaml", OTHER)] * 2)

    assert "(first at line 2, tenants[0].id)" in str(caught.value)


def test_it_rejects_two_tenants_with_the_same_id_domain_or_issuer() -> None:
    again = TENANT.removeprefix(b"tenants:\n").replace(b"rooms.estate.example", b"more.example")

    told = _told(TENANT + again)

    assert [line.partition(":")[0] for line in told] == [
        "line 10, tenants[1].id",
        "line 12, tenants[1].domains[0]",
        "line 17, tenants[1].issuers[0]",
    ]


def test_it_rejects_two_defaults_of_a_kind() -> None:
    text = TENANT + (
        b"    templates:\n"
        b"      - {id: 7e000000-0000-4000-8000-000000000001, kind: room, name: A, isDefault: true}\n"
        b"      - {id: 7e000000-0000-4000-8000-000000000002, kind: room, name: B, isDefault: true, active: false}\n"
        b"      - {id: 7e000000-0000-4000-8000-000000000003, kind: room, name: C, isDefault: true}\n"
    )

    assert _told(text) == [
        (
            "line 13, tenants[0].templates[2].isDefault: Kind room has a default already, at tenants[0].templates[0]. "
            "Keep one of them."
        )
    ]


def test_it_rejects_what_a_template_names_twice() -> None:
    text = TENANT + (
        b"    templates:\n"
        b"      - id: 7e000000-0000-4000-8000-000000000012\n"
        b"        kind: team\n"
        b"        name: Project team\n"
        b"        channels:\n"
        b"          - General\n"
        b"          - general\n"
    )

    (told,) = _told(text)
    assert told == (
        "line 16, tenants[0].templates[0].channels[1]: The same is there already, at place 0, counted from 0. "
        "Leave one of the two out."
    )


OTHER = b"""\
tenants:
  - {id: e57a7e00-0000-4000-8000-000000000002, name: Other House, domains: [other.example]}
"""


def test_it_reads_several_files_as_one() -> None:
    files = [ConfigurationFile("a.yaml", TENANT), ConfigurationFile("b.yaml", OTHER + b"directory: {users: []}\n")]

    configuration = read_configurations(files)

    assert [entry.tenant.name for entry in configuration.tenants] == ["Example Estate", "Other House"]
    assert [str(entry.place) for entry in configuration.tenants] == [
        "a.yaml, line 2, tenants[0]",
        "b.yaml, line 2, tenants[0]",
    ]
    assert configuration.directory == {"users": []}


def test_it_rejects_what_two_files_define_with_both_places() -> None:
    again = OTHER.replace(b"other.example", b"rooms.estate.example").replace(b"0002", b"0001")
    files = [ConfigurationFile("a.yaml", OTHER), ConfigurationFile("b.yaml", TENANT), ConfigurationFile("c", again)]

    with pytest.raises(ConfigurationInvalid) as caught:
        read_configurations(files)

    assert str(caught.value).splitlines() == [
        (
            "c, line 2, tenants[0].id: e57a7e00-0000-4000-8000-000000000001 is there twice "
            "(first at b.yaml, line 2, tenants[0].id). Each may be there once."
        ),
        (
            "c, line 2, tenants[0].domains[0]: rooms.estate.example is there twice "
            "(first at b.yaml, line 4, tenants[0].domains[1]). Each may be there once."
        ),
    ]


def test_it_rejects_the_faults_of_all_files_in_their_order() -> None:
    files = [ConfigurationFile("b.yaml", b"teams: []\n"), ConfigurationFile("a.yaml", b"\ntenants: {}\nx: &a 1\n")]

    with pytest.raises(ConfigurationInvalid) as caught:
        read_configurations(files)

    assert [(fault.file, fault.line) for fault in caught.value.faults] == [("b.yaml", 1), ("a.yaml", 3)]


def test_what_is_left_out_is_something_else_than_what_is_empty() -> None:
    (left_out,) = read_configuration(OTHER).tenants
    text = OTHER.replace(b"]}", b"], templates: [], policies: [], issuers: []}")
    (empty,) = read_configuration(text).tenants

    assert (left_out.templates, left_out.policies, left_out.tenant.issuers) == (None, None, None)
    assert (empty.templates, empty.policies, empty.tenant.issuers) == ((), (), ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            OTHER.replace(b"e57a7e00-0000-4000-8000-000000000002", b"e57a7e00"),
            "line 2, tenants[0].id: id must be a UUID",
        ),
        (
            OTHER.replace(b"e57a7e00-0000-4000-8000-000000000002", b"00000000-0000-0000-0000-000000000000"),
            "line 2, tenants[0].id: The all-zero id is reserved. Choose another.",
        ),
        (
            OTHER.replace(b"]}", b"], policies: [{id: 00000000-0000-0000-0000-000000000000, name: A}]}"),
            "line 2, tenants[0].policies[0].id: The all-zero id",
        ),
        (
            OTHER.replace(b"]}", b"], templates: [{id: x, kind: group, name: A}]}"),
            "line 2, tenants[0].templates[0].id: id must be a UUID",
        ),
    ],
)
def test_it_rejects_wrong_ids(text: bytes, told: str) -> None:
    (line,) = _told(text)

    assert line.startswith(told)


@pytest.mark.parametrize(
    ("issuer", "is_taken"),
    [
        ("https://login.example.org", True),
        ("http://127.0.0.1:8080", True),
        ("http://localhost:8080/a", True),
        ("http://login.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("https://", False),
        ("https://login.example.org?a", False),
        ("https://user:password@login.example.org/", False),
    ],
)
def test_an_issuer_is_reached_over_a_line_that_nobody_else_writes_to(issuer: str, *, is_taken: bool) -> None:
    text = OTHER.replace(b"]}", f"], issuers: [{{issuer: '{issuer}'}}]}}".encode())

    if is_taken:
        assert read_configuration(text).tenants[0].tenant.issuers
    else:
        assert _told(text)
