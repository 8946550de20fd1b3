# SPDX-License-Identifier: Apache-2.0
"""The output formats of commands."""

import json
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from chamberlain.cli.errors import Misused
from chamberlain.cli.formats import Format, Output
from chamberlain.cli.output import Column, Record
from chamberlain.cli.tables import age, draw_members, draw_table

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
COLUMNS = (
    Column("ID", "id"),
    Column("NAME", "displayName"),
    Column("TEMPLATE", "template.name"),
    Column("COUNT", "count"),
    Column("AGE", "createdAt"),
    Column("MAIL", "mail", wide=True),
)
ORCHARD: Record = {
    "id": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
    "displayName": "Orchard",
    "template": {"name": "Project group", "id": "7e000000-0000-4000-8000-000000000001"},
    "count": 7,
    "createdAt": "2026-11-20T11:57:00Z",
    "mail": "orchard@estate.example",
}
ZURICH: Record = {
    **ORCHARD,
    "id": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c11",
    "displayName": "People who plan the move of the whole office to Zürich",
    "count": 1200,
    "createdAt": "2026-11-18T11:57:00Z",
    "mail": "people-who-plan-the-move-of-the-whole-office-to-zurich@estate.example",
}


def test_a_table_fits_80_columns() -> None:
    drawn = draw_table(COLUMNS, [ORCHARD, ZURICH], NOW, room=80)

    assert drawn == [
        "ID        NAME                                   TEMPLATE       COUNT  AGE",
        "6a1b7c10  Orchard                                Project group      7  3 m",
        "6a1b7c11  People who plan the move of the whole  Project group   1200  2 d",
        "          office to Zürich",
    ]


def test_a_wider_terminal_gets_more_columns() -> None:
    (title, *_) = draw_table(COLUMNS, [ORCHARD], NOW, room=80)
    (narrow, *_) = draw_table(COLUMNS, [ORCHARD, ZURICH], NOW, room=160)
    (wide, *_) = draw_table(COLUMNS, [ORCHARD, ZURICH], NOW, room=180)

    assert [title.split()[-1], narrow.split()[-1], wide.split()[-1]] == ["MAIL", "AGE", "MAIL"]


def test_a_long_address_is_divided_behind_a_sign() -> None:
    columns = (Column("ID", "id"), Column("MAIL", "mail"))

    drawn = draw_table(columns, [ZURICH], NOW, room=60)

    assert drawn[1:] == [
        "6a1b7c11  people-who-plan-the-move-of-the-whole-office-to-",
        "          zurich@estate.example",
    ]


def test_a_long_word_beside_short_titles_fits_too() -> None:
    columns = (Column("LAST USED", "createdAt"), Column("MAIL", "mail"), Column("NAME", "displayName"))

    drawn = draw_table(columns, [ZURICH], NOW, room=60)

    assert max(map(len, drawn)) <= 60
    assert drawn[0].split() == ["LAST", "MAIL", "NAME"]


def test_an_object_wraps_between_words() -> None:
    members = [("id", ORCHARD["id"]), ("displayName", ZURICH["displayName"]), ("mail", ZURICH["mail"])]

    drawn = draw_members([(name, str(value)) for name, value in members], room=50)

    assert drawn == [
        "id           0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
        "displayName  People who plan the move of the whole",
        "             office to Zürich",
        "mail         people-who-plan-the-move-of-the-whole-office-to-zurich@estate.example",
    ]


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("2026-11-20T12:00:00Z", "0 s"),
        ("2026-11-20T11:59:15.5Z", "44 s"),
        ("2026-11-20T07:00:00Z", "5 h"),
        ("2026-11-23T13:00:00Z", "in 3 d"),
        ("2026-01-02T12:00:00Z", "2026-01-02"),
    ],
)
def test_ages(time: str, shown: str) -> None:
    assert age(time, NOW) == shown


def test_lists_in_all_formats(capsys: pytest.CaptureFixture[str]) -> None:
    whole = [ORCHARD, ZURICH]

    assert json.loads(listed(Output(Format.JSON), whole, capsys)) == whole
    assert [
        json.loads(line) for line in listed(Output(Format.JSON, in_lines=True), whole, capsys).splitlines()
    ] == whole
    assert yaml.safe_load(listed(Output(Format.YAML), whole, capsys)) == whole
    assert listed(Output(Format.NAME), whole, capsys).splitlines() == [each["id"] for each in whole]
    assert listed(Output(Format.CSV, fields=("count", "template.name")), whole, capsys).splitlines() == [
        "count,template.name",
        "7,Project group",
        "1200,Project group",
    ]
    assert listed(Output(fields=("count", "mail")), [ORCHARD], capsys) == "7\torchard@estate.example\n"


def test_a_record_of_a_type_derived_from_dict_in_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    Output(Format.YAML).show(OrderedDict(id="x"))

    assert capsys.readouterr().out == "id: x\n"


@pytest.mark.parametrize("text", ["no", "1e3", "a\x1b[31m\u202eb", "x: y\nz", "\u2028", " "])
def test_texts_in_yaml_stay_what_they_were(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Output(Format.YAML).show({"text": text})

    out = capsys.readouterr().out
    assert yaml.safe_load(out) == {"text": text}
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_an_empty_list_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    for each in Format:
        Output(each).show_records([], COLUMNS, "groups")

    shown = capsys.readouterr()
    assert shown.out == "[]\n[]\n"
    assert shown.err == "There are no groups.\n" * 3


def test_a_filter_of_jq_prints_texts_raw(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output.from_options(None, as_json=False, jq=".[] | .displayName, .count", fields=None)

    assert listed(output, [ORCHARD], capsys) == "Orchard\n7\n"


def test_fields_keep_their_nesting(capsys: pytest.CaptureFixture[str]) -> None:
    Output(Format.JSON, fields=("count", "template.name")).show(ORCHARD)

    assert json.loads(capsys.readouterr().out) == {"count": 7, "template": {"name": "Project group"}}


@pytest.mark.parametrize(
    "options",
    [
        {"chosen": Format.CSV, "as_json": True},
        {"chosen": Format.YAML, "jq": "."},
        {"fields": ","},
        {"chosen": Format.NAME, "fields": "id"},
    ],
)
def test_it_rejects_options_that_conflict(options: dict[str, Any]) -> None:
    with pytest.raises(Misused):
        Output.from_options(**{"chosen": None, "as_json": False, "jq": None, "fields": None, **options})


@pytest.mark.parametrize(
    "output", [Output(fields=("nmae",)), Output(Format.CSV, fields=("nmae",)), Output(Format.JSON, jq=".[")]
)
def test_it_rejects_unknown_fields_and_invalid_filters(output: Output) -> None:
    with pytest.raises(Misused):
        output.show(ORCHARD)


def test_an_unknown_field_lists_the_known_ones() -> None:
    with pytest.raises(Misused, match=r"--fields nmae: .*id, displayName, template, template.name, template.id, count"):
        Output(fields=("nmae",)).show(ORCHARD)


def test_the_name_of_a_finished_request_is_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    asked: Record = {"requestId": "4d0c", "approvalRequired": False}

    Output(Format.NAME).show(asked)
    Output(Format.NAME).show({**asked, "group": {"id": ORCHARD["id"], "displayName": "Orchard"}})

    assert capsys.readouterr().out.splitlines() == ["4d0c", ORCHARD["id"]]


def listed(output: Output, records: list[Record], capsys: pytest.CaptureFixture[str]) -> str:
    output.show_records(records, COLUMNS, "groups")
    return capsys.readouterr().out
