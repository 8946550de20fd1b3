# SPDX-License-Identifier: Apache-2.0
"""`chamberlain assignment import`: the cells of a file, and an import against a running service."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chamberlain.cli.import_.table import read_table
from chamberlain.guests.import_.columns import NONE, read_rows
from tests.cli.import_fixture import ImportFixture
from tests.docs.pages import ROOT
from tests.services import ADA_MAIL, API, Service, look_up

ALL_STAFF, HANDBOOK = "94000000-0000-4000-8000-000000000001", "51730000-0000-4000-8000-000000000001"
NO_GUESTS, NINETY_DAYS = "7e000000-0000-4000-8000-000000000021", "90110000-0000-4000-8000-000000000001"
PAGE = ROOT / "docs" / "how-to" / "import-assignments.md"
IDS = {("group", "All staff"): [ALL_STAFF], ("policy", "Twin"): [NINETY_DAYS, NO_GUESTS]}


def find_ids(column: str, name: str) -> list[str]:
    return IDS.get((column, name), [])


@pytest.fixture
def assignments(service: Service, tmp_path: Path) -> Iterator[ImportFixture]:
    made = ImportFixture(service, tmp_path, "assignment")
    yield made
    made.journal.unlink(missing_ok=True)
    made.write("group,site,template,policy", f"{ALL_STAFF},,clear,clear", f",{HANDBOOK},clear,clear")
    assert made.run().returncode == 0


@pytest.mark.pure
def test_names_ids_and_clear_become_the_body() -> None:
    text = f"group,site,template,policyId\nAll staff,,clear,{NINETY_DAYS.upper()}\n,{HANDBOOK},,{NONE}\n"

    rows, faults = read_rows(read_table(text.encode()), find_ids)

    assert faults == []
    assert [(row.line, row.column, row.id, row.body) for row in rows] == [
        (2, "group", ALL_STAFF, {"templateId": NONE, "policyId": NINETY_DAYS}),
        (3, "site", HANDBOOK, {"policyId": NONE}),
    ]


@pytest.mark.pure
def test_it_reads_the_file_of_the_page() -> None:
    (text,) = re.findall(
        r"^cat > \w+\.csv <<.END.\n(.*?)^END$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )

    rows, faults = read_rows(read_table(text.encode()), lambda _column, name: [f"id of {name}"])

    assert (faults, [(row.column, list(row.body)) for row in rows]) == (
        [],
        [("group", ["templateId", "policyId"]), ("site", ["templateId"]), ("site", ["templateId", "policyId"])],
    )


@pytest.mark.pure
@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("group,tempalte\nA,\n", [(1, "tempalte"), (1, "template")]),
        ("template\nA\n", [(1, "group")]),
        (f"group,template,templateId\nA,{NO_GUESTS},\n", [(1, "template")]),
        (f"group,site,template\nAll staff,{HANDBOOK},clear\n", [(2, None)]),
        ("group,template\nAll staff,\n", [(2, None)]),
        ("group,template\nNo such,clear\n", [(2, "group")]),
        ("group,policy\nAll staff,Twin\n", [(2, "policy")]),
        (f"group,template\nAll staff,clear\n{ALL_STAFF},clear\n", [(3, "group")]),
    ],
)
def test_it_rejects_faulty_cells_with_their_place(text: str, places: list[tuple[int, str | None]]) -> None:
    _, faults = read_rows(read_table(text.encode()), find_ids)

    assert [(each.line, each.column) for each in faults] == places


def test_it_works(assignments: ImportFixture) -> None:
    assignments.write(
        "group,site,template,policy", "all STAFF,,No guests,90 days", f",{HANDBOOK},{NO_GUESTS},", "0000dead,,clear,"
    )
    faulty = assignments.run()
    assignments.write("group,site,template,policy", "all STAFF,,No guests,90 days", f",{HANDBOOK},{NO_GUESTS},")

    previewed = assignments.run("--dry-run", "--json")
    first = assignments.run("--wait")
    second = assignments.run()
    assignments.journal.unlink()
    third = assignments.run()

    assert (faulty.returncode, "line 4, group: " in faulty.stderr) == (1, True)
    plans = [json.loads(line) for line in previewed.stdout.splitlines()]
    assert [(each["templateId"], each["policyId"]) for each in plans] == [(NO_GUESTS, NINETY_DAYS), (NO_GUESTS, None)]
    assert (first.returncode, "2 rows: 2 active." in first.stderr) == (0, True), first.stderr
    assert "2 rows: 2 there already." in second.stderr
    assert "2 rows: 2 there already." in third.stderr
    shown = assignments.service.get(f"/admin/collab/v1/manage/groups/{ALL_STAFF}/", ADA_MAIL, f"{API}/.default").json()
    assert (shown["templateId"], shown["policyId"]) == (NO_GUESTS, NINETY_DAYS)


def test_a_killed_import_continues(assignments: ImportFixture) -> None:
    assignments.write("group,site,policy", f"{ALL_STAFF},,{NINETY_DAYS}", f",{HANDBOOK},{NINETY_DAYS}")
    count = "SELECT count(*) FROM chamberlain.request WHERE kind = 'assignment'"
    before = int(str(look_up(assignments.service.embedded_addresses.worker, count)))

    assignments.killed_after(1)
    done = assignments.run()

    assert done.returncode == 0, done.stderr
    assert assignments.outcomes()["present"] >= 1
    assert int(str(look_up(assignments.service.embedded_addresses.worker, count))) == before + 2
