# SPDX-License-Identifier: Apache-2.0
"""Files of mailboxes: what is read of them, and all that is wrong with one, in one go."""

import msgspec
import pytest

from chamberlain.cli.import_.table import MOST_BYTES, MOST_ROWS, BodyRow, read_table, with_templates
from chamberlain.mailboxes.import_.columns import PROPERTIES, column_fault, column_of, read_rows
from chamberlain_client.models import NewMailbox, RoomMetadata

BEN, CLEO = "be000000-0000-4000-8000-000000000002", "c1e00000-0000-4000-8000-000000000003"
ROOM = "7e000000-0000-4000-8000-000000000003"


def bodies(text: str) -> list[dict[str, object]]:
    rows, faults = read_rows(read_table(text.encode()))
    assert faults == []
    return [dict(row.body) for row in rows]


def faults(data: bytes | str) -> list[str]:
    _, found = read_rows(read_table(data.encode() if isinstance(data, str) else data))
    return [str(fault) for fault in found]


def test_it_works() -> None:
    text = (
        "name,displayName,capacity,hideFromGAL,tags,roomMailboxMetadata.hasWhiteboard,metadata.floor,metadata.new,notes\n"
        'basel,"Basel, 5th",12,TRUE,quiet;window; ,false,5,true,"Line one\nline two"\n'
        "geneva,Geneva,,,,,,,\n"
    )

    assert bodies(text) == [
        {
            "name": "basel",
            "displayName": "Basel, 5th",
            "capacity": 12,
            "hideFromGAL": True,
            "tags": ["quiet", "window"],
            "roomMailboxMetadata": {"hasWhiteboard": False},
            "metadata": {"floor": "5", "new": True},
            "notes": "Line one\nline two",
        },
        {"name": "geneva", "displayName": "Geneva"},
    ]


def test_there_is_a_column_for_every_property_of_the_body() -> None:
    names = {field.encode_name for field in msgspec.structs.fields(NewMailbox)}
    inner = {f"roomMailboxMetadata.{field.encode_name}" for field in msgspec.structs.fields(RoomMetadata)}

    assert set(PROPERTIES) == (names | inner) - {"permissions", "metadata", "roomMailboxMetadata"}


@pytest.mark.parametrize(
    ("columns", "cells", "permissions"),
    [
        ("permissions", f"{BEN}=FullAccess;{CLEO.upper()}=SendAs;", {BEN: "FullAccess", CLEO: "SendAs"}),
        ("permissions", f" {BEN} = None ", {BEN: "None"}),
        ("permissions.SendAs", f"{BEN};{CLEO}", {BEN: "SendAs", CLEO: "SendAs"}),
        (f"permissions.{BEN},permissions.FullAccess", f"SendAs,{CLEO}", {BEN: "SendAs", CLEO: "FullAccess"}),
    ],
)
def test_permissions_are_written_in_three_ways(columns: str, cells: str, permissions: dict[str, str]) -> None:
    (body,) = bodies(f"name,displayName,{columns}\na,A,{cells}\n")

    assert body["permissions"] == permissions


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('name;displayName;tags\na;A;"x;y"\n', id="semicolons"),
        pytest.param("\ufeffname,displayName,tags\na,A,x;y\n", id="a byte order mark"),
        pytest.param("name,displayName,tags\r\na,A,x;y\r\n", id="line ends of Windows"),
        pytest.param("name,displayName,tags\na,A,x;y", id="no line end behind the last row"),
        pytest.param(" name , displayName,tags\na,A,x;y\n", id="blanks around the names of columns"),
        pytest.param("name,displayName,tags\n\n,,\na,A,x;y\n,,\n", id="rows without anything"),
        pytest.param("name,displayName,tags\na,A,x;y,,,\n", id="empty cells behind the last column"),
        pytest.param("tags,displayName,name\nx;y,A,a\n", id="another order"),
        pytest.param('"name","displayName","tags"\n"a","A","x;y"\n', id="quotation marks everywhere"),
    ],
)
def test_it_reads_what_spreadsheets_write(text: str) -> None:
    assert bodies(text) == [{"name": "a", "displayName": "A", "tags": ["x", "y"]}]


def test_text_stays_as_it_is() -> None:
    (body,) = bodies('name,displayName,notes,state\n a ,"=1+1 ""x""", -x ,Zürich\n')

    assert body == {"name": " a ", "displayName": '=1+1 "x"', "notes": " -x ", "state": "Zürich"}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param(b"", ["line 1: The file is empty."], id="nothing"),
        pytest.param("name,displayName\n", ["line 1: There is no row"], id="no row"),
        pytest.param(
            b"name,displayName\na,A\nb,\xe4\n", ["line 3: There are characters that are not UTF-8."], id="latin"
        ),
        pytest.param("name,displayName\na,A\n".encode("utf-16"), ["line 1: The file is in UTF-16."], id="utf-16"),
        pytest.param(b"x" * (MOST_BYTES + 1), ["line 1: The file has more than 10 MiB."], id="too large"),
        pytest.param("name\na\n", ["line 1, displayName: This column is missing"], id="missing"),
        pytest.param("name,displayName,name\na,A,b\n", ["line 1, name: There are two columns"], id="twice"),
        pytest.param("name,displayName,\na,A,b\n", ["line 1: Column 3 has no name."], id="no name"),
        pytest.param('name,displayName\na,A\n"b,B\n', ["line 3: The row cannot be read"], id="open quotation"),
        pytest.param(
            "name,displayName\na,A,more\n", ["line 2: There are 3 cells, and 2 columns."], id="too many cells"
        ),
        pytest.param(
            "name,displayName,hideFromGal\na,A,true\n",
            ["line 1, hideFromGal: A mailbox has no such property. Did you mean hideFromGAL?"],
            id="misspelt",
        ),
        pytest.param(
            "name,displayName,colour\na,A,red\n", ["line 1, colour: A mailbox has no such property."], id="new"
        ),
        pytest.param("name,displayName,metadata.\na,A,x\n", ["line 1, metadata.: The key is missing"], id="no key"),
        pytest.param("name,displayName,permissions.All\na,A,x\n", ["line 1, permissions.All: Write"], id="no level"),
        pytest.param(
            f"name,displayName,template,templateId\na,A,Room,{ROOM}\n",
            ["line 1, template: There is a column templateId as well."],
            id="two templates",
        ),
        pytest.param(
            "name,displayName\na,A\nÀ,A\nA\u0300,B\n", ["line 4, name: The mailbox of line 3"], id="one name twice"
        ),
        pytest.param(
            "name,displayName,capacity,hideFromGAL,primaryOwner,name2\n"
            'a,"A\nB",twelve,maybe,ben,\n'
            ",B,1.5,true,,\n"
            f"c,{'C' * 257},-1,,,\n",
            [
                "line 1, name2: A mailbox has no such property.",
                "line 2, capacity: 'twelve' is no whole number.",
                "line 2, hideFromGAL: 'maybe' is neither true nor false.",
                "line 2, displayName: ",
                "line 2, primaryOwner: ",
                "line 4, capacity: '1.5'",
                "line 4, name: ",
                "line 5, capacity: '-1'",
                "line 5, displayName: ",
            ],
            id="everything at once",
        ),
        pytest.param(
            f"name,displayName,permissions\na,A,{BEN}\nb,B,ben=SendAs\nc,C,{BEN}=All\nd,D,{BEN}=SendAs;{BEN.upper()}=None\n",
            [
                f"line 2, permissions: '{BEN}' is not understood.",
                "line 3, permissions: 'ben' is no id of a user.",
                "line 4, permissions: 'All' is no permission.",
                f"line 5, permissions: User {BEN.upper()} has a permission already.",
            ],
            id="permissions",
        ),
        pytest.param(
            f"name,displayName,metadata.a/b,tags\na,A,{'x' * 1025},{'y' * 65}\n",
            ["line 2, metadata.a/b: ", "line 2, tags: "],
            id="too long",
        ),
    ],
)
def test_it_rejects_with_every_fault_and_its_place(data: bytes | str, told: list[str]) -> None:
    found = faults(data)

    assert len(found) == len(told), found
    assert [one for one, begin in zip(sorted(found), sorted(told), strict=True) if not one.startswith(begin)] == []


def test_it_rejects_more_rows_than_one_import_has() -> None:
    text = "name,displayName\n" + "".join(f"n{number},N\n" for number in range(MOST_ROWS + 1))

    assert faults(text) == [f"line {MOST_ROWS + 2}: There are more than 50,000 rows. Divide the file."]


@pytest.mark.parametrize(
    ("pointer", "column"),
    [
        ("/capacity", "capacity"),
        ("/tags/3", "tags"),
        ("/metadata/a~1b", "metadata.a/b"),
        ("/metadata", "metadata"),
        ("/roomMailboxMetadata/hasWhiteboard", "roomMailboxMetadata.hasWhiteboard"),
        (f"/permissions/{BEN}", "permissions.SendAs"),
        ("/templateId", "template"),
        ("/displayName", "displayName"),
    ],
)
def test_a_place_in_the_body_is_reported_as_its_column(pointer: str, column: str) -> None:
    columns = dict.fromkeys(
        ("capacity", "tags", "metadata.a/b", "roomMailboxMetadata.hasWhiteboard", "permissions.SendAs", "template"), ""
    )

    assert column_of(pointer, columns) == column


def test_templates_are_named_or_given_by_id() -> None:
    text = f"name,displayName,template\na,A,room\nb,B,{ROOM.upper()}\nc,C,\nd,D,Twice\ne,E,Nothing\n"
    rows, _ = read_rows(read_table(text.encode()))

    found, told = with_templates(rows, {"room": [ROOM], "twice": ["1", "2"]}, "default")

    assert [row.body.get("templateId") for row in found] == [ROOM, ROOM.upper(), "default"]
    assert [fault.line for fault in told] == [5, 6]
    assert "1, 2" in told[0].detail
    assert "There is no template 'Nothing'" in told[1].detail


def test_without_a_template_the_row_shows_its_type() -> None:
    found, told = with_templates([BodyRow(2, {"name": "a", "displayName": "A"})], {}, None)

    assert (found[0].body, told) == ({"name": "a", "displayName": "A"}, [])


@pytest.mark.parametrize("name", ["name", "template", "permissions", f"permissions.{BEN}", "metadata.x.y"])
def test_there_are_such_columns(name: str) -> None:
    assert column_fault(name) is None


@pytest.mark.parametrize("bad", ["\0", "\x01", "\x7f", "\x85", "\u202e"])
@pytest.mark.parametrize("column", [*PROPERTIES, "template", "permissions", "metadata.floor"])
def test_a_control_character_is_named_with_its_line_and_column(column: str, bad: str) -> None:
    table = read_table(f"{column},other\n\na{bad}b,x\n".encode())

    assert [(fault.line, fault.column) for fault in table.faults] == [(3, column)]
