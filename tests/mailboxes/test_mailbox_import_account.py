# SPDX-License-Identifier: Apache-2.0
"""The records of an import: keys, the checkpoint file, the report."""

import base64
import csv
import io
import json
import os
from pathlib import Path

import pytest

from chamberlain.cli.formats import Output
from chamberlain.cli.import_.checkpoint import Journal, JournalUnusable, entries_of, result_on_record
from chamberlain.cli.import_.results import (
    ImportOptions,
    Outcome,
    RowResult,
    as_csv,
    as_lines,
    write_report,
)
from chamberlain.cli.import_.sender import KeyedRow, place_of, row_key
from chamberlain.cli.import_.summary import Account
from chamberlain.cli.import_.table import BodyRow
from chamberlain.cli.output import safe_cell
from chamberlain.mailboxes.import_.sender import is_as_asked
from tests.mailboxes.mailbox_responses import BODY

ID = "9d5b2166-3c67-4675-8389-0dec13bf4a2a"
DONE = RowResult(2, "basel", Outcome.ACCEPTED, address="basel@rooms.example", object_id=ID, request_id=ID)


def token(claims: object) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"head.{payload}.signature"


def test_it_works(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        assert journal.read() == {}
        journal.note("k1", DONE)
        journal.note("k2", RowResult(3, "Zürich\n", Outcome.PRESENT))

    with Journal(tmp_path / "journal") as journal:
        done = journal.read()

    assert list(done) == ["k1", "k2"]
    again = result_on_record(done["k1"], 7, "basel")
    assert (again.line, again.outcome, again.address, again.object_id) == (7, Outcome.PRESENT, DONE.address, ID)


@pytest.mark.parametrize("torn", [b'{"key": "k2", "li', b'{"key": "k2"}', b"\xff\xfe", b"{"])
def test_a_line_that_was_cut_off_is_none_and_harms_no_other(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "journal"
    with Journal(path) as journal:
        journal.note("k1", DONE)
    whole = path.read_bytes()
    path.write_bytes(whole + torn)

    with Journal(path) as journal:
        assert list(journal.read()) == ["k1"]
        journal.note("k3", DONE)

    assert list(entries_of(path.read_bytes())) == ["k1", "k3"]
    assert path.read_bytes().startswith(whole)


def test_it_may_be_cut_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path) as journal:
        for number in range(3):
            journal.note(f"k{number}", DONE)
    content = path.read_bytes()

    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        with Journal(path) as journal:
            done = journal.read()
            journal.note("more", DONE)
        assert list(done) == [f"k{number}" for number in range(content[:length].count(b"\n"))]
        assert list(entries_of(path.read_bytes())) == [*done, "more"]


@pytest.mark.parametrize("content", [b"name,displayName\nbasel,Basel", b"precious", b"\n", b'{"kez": 1}'])
def test_it_rejects_a_file_that_is_no_journal_and_leaves_it_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rooms.csv"
    path.write_bytes(content)

    with Journal(path) as journal, pytest.raises(JournalUnusable, match="is no journal of an import"):
        journal.read()

    assert path.read_bytes() == content


def test_a_row_that_was_asked_for_is_reported_so_though_the_journal_fails(tmp_path: Path) -> None:
    options = ImportOptions(tmp_path / "a.csv", None, dry_run=False, wait=False, timeout=0, report=None, journal=None)
    with Journal(tmp_path / "journal") as journal:
        account = Account(options, output=Output(), rows=[KeyedRow(BodyRow(2, BODY), "k1")], journal=journal)
    # It is closed by now, as a disk may be full.
    with pytest.raises(JournalUnusable), account.reported():
        account.note("k1", DONE)

    assert account.results == {2: DONE}
    assert "2,basel,accepted," in (tmp_path / "a.csv.report.csv").read_text(encoding="utf-8-sig")


def test_a_report_replaces_no_link(tmp_path: Path) -> None:
    # /dev/stdout is one.
    path, read = tmp_path / "report", tmp_path / "read"
    path.symlink_to(read)

    write_report(path, "told", encoding="utf-8")

    assert (path.is_symlink(), read.read_text()) == (True, "told")


def test_a_report_replaces_no_device(tmp_path: Path) -> None:
    # Only root can make one such as /dev/null.
    path = tmp_path / "report"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    write_report(path, "told", encoding="utf-8")

    assert (path.is_fifo(), os.read(reader, 9)) == (True, b"told")
    os.close(reader)


def test_lines_that_are_no_entries_are_passed_over() -> None:
    assert entries_of(b'[]\n{"key": 1}\nnull\n\n{"key": "k"}\n') == {"k": {"key": "k"}}


def test_it_rejects_a_second_import_of_the_same_file(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal"), pytest.raises(JournalUnusable, match="Another import"):
        Journal(tmp_path / "journal")


def test_it_rejects_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(JournalUnusable, match="--journal"):
        Journal(tmp_path / "nowhere" / "journal")


def test_it_is_for_whoever_imports_alone(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal"):
        assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o600


def test_a_row_has_one_key_whatever_the_order_of_its_columns() -> None:
    first = row_key("mailbox", "here", {"name": "a", "metadata": {"x": "1", "y": True}})

    assert first == row_key("mailbox", "here", {"metadata": {"y": True, "x": "1"}, "name": "a"})
    assert first.isascii()
    assert len(first) < 255
    others = [
        row_key("mailbox", "there", {"name": "a"}),
        row_key("mailbox", "here", {"name": "b"}),
        row_key("mailbox", "here", {"name": "a", "tags": []}),
    ]
    assert len({first, *others}) == 4


@pytest.mark.parametrize(
    ("written", "place"),
    [
        (token({"iss": "https://i", "tid": "t", "oid": "o"}), "https://s https://i t"),
        (token({"iss": "https://i"}), "https://s https://i None"),
        (token([]), "https://s"),
        ("opaque", "https://s"),
        ("a.!.c", "https://s"),
        ("a.YWJj.c", "https://s"),
    ],
)
def test_tenants_are_reported_apart(written: str, place: str) -> None:
    assert place_of("https://s", written) == place


@pytest.mark.parametrize(
    ("record", "body", "same"),
    [
        ({"name": "a", "id": ID, "permissions": {}}, {"name": "a"}, True),
        ({"name": "a", "capacity": 2}, {"name": "a", "capacity": 3}, False),
        ({"name": "a", "autoMapping": True}, {"name": "a", "autoMapping": 1}, False),
        ({"name": "a"}, {"name": "a", "capacity": 3}, False),
        ({"templateId": ID}, {"templateId": ID.upper()}, True),
        ({"metadata": {"a": "1", "b": "2"}}, {"metadata": {"a": "1"}}, True),
        ({"metadata": {"a": "1"}}, {"metadata": {"a": "1", "b": "2"}}, False),
        ({"metadata": None}, {"metadata": {"a": "1"}}, False),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, False),
    ],
)
def test_it_knows_what_is_there_already(record: dict[str, object], body: dict[str, object], same: bool) -> None:  # noqa: FBT001 - a column of the table.
    assert is_as_asked(record, body) is same


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_no_spreadsheet_takes_a_cell_for_a_formula(cell: str) -> None:
    assert safe_cell(cell) == f"'{cell}"
    (_, row) = csv.reader(io.StringIO(as_csv([RowResult(2, cell, Outcome.REFUSED, detail=cell)]), newline=""))
    assert (row[1], row[-1]) == (f"'{cell}", f"'{cell}")


def test_a_report_names_its_columns() -> None:
    head, row = csv.reader(io.StringIO(as_csv([DONE]), newline=""))

    assert head == ["line", "name", "outcome", "address", "id", "requestId", "code", "detail"]
    assert row == ["2", "basel", "accepted", "basel@rooms.example", ID, ID, "", ""]
    assert json.loads(as_lines([DONE])) == dict(DONE.record)


def test_keys_and_entries_of_the_first_version_are_understood() -> None:
    key = "mailbox-import-fac1836fb7b26e8c71e4130f0c1250dc85b283cf9c040d2aeb33a6e5e381248f"
    entry = f'{{"key":"{key}","line":2,"name":"basel","outcome":"accepted","address":"a@b.example","id":"{ID}"}}\n'

    done = entries_of(entry.encode())

    assert row_key("mailbox", "http://here iss tid", {"name": "basel", "capacity": 4}) == key
    assert result_on_record(done[key], 2, "basel").object_id == ID
