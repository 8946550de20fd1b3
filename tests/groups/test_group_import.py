# SPDX-License-Identifier: Apache-2.0
"""`chamberlain group import`: the cells of a file, and an import against a running service, killed in between."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from chamberlain.cli.import_.table import read_table
from chamberlain.groups.import_.columns import read_rows
from tests.cli.import_fixture import ImportFixture
from tests.cli.shell import Shell
from tests.docs.pages import ROOT
from tests.services import ADA, BEN, CLEO, GROUP_TEMPLATE, Service, look_up

PAGE = ROOT / "docs" / "how-to" / "import-groups.md"
USERS = {"ben@estate.example": [BEN], "twin@estate.example": [BEN, CLEO]}


@pytest.fixture
def groups(service: Service, tmp_path: Path) -> ImportFixture:
    return ImportFixture(service, tmp_path, "group")


@pytest.mark.pure
def test_every_column_becomes_a_property() -> None:
    text = (
        "displayName,templateId,description,memberShipType,owners,members,metadata.floor,metadata.open,labelId\n"
        f"Choir,{GROUP_TEMPLATE},Sings,Public,ben@estate.example;{CLEO},{ADA},5,true,internal\n"
    )

    rows, faults = read_rows(read_table(text.encode()), lambda address: USERS.get(address, []))

    assert faults == []
    assert [(row.line, row.name, row.body) for row in rows] == [
        (
            2,
            "Choir",
            {
                "displayName": "Choir",
                "templateId": GROUP_TEMPLATE,
                "description": "Sings",
                "memberShipType": 1,
                "owners": [BEN, CLEO],
                "members": [ADA],
                "metadata": {"floor": "5", "open": True},
                "labelId": "internal",
            },
        )
    ]


@pytest.mark.pure
def test_it_reads_the_file_of_the_page() -> None:
    (text,) = re.findall(
        r"^cat > \w+\.csv <<.END.\n(.*?)^END$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )

    rows, faults = read_rows(read_table(text.encode()), lambda address: [BEN] if address else [])

    assert (faults, [row.template for row in rows]) == ([], ["Project group", "Project team"])


@pytest.mark.pure
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("displayName,owner\nA,\n", (1, "owner")),
        (f"templateId\n{GROUP_TEMPLATE}\n", (1, "displayName")),
        ("displayName,memberShipType\nA,secret\n", (2, "memberShipType")),
        ("displayName,owners\nA,no@estate.example\n", (2, "owners")),
        ("displayName,members\nA,twin@estate.example\n", (2, "members")),
        ("displayName,members\nA,ben\n", (2, "members")),
        ("displayName\nA\nB\nA\n", (4, "displayName")),
        ("displayName,template\nA,Project group\nA,project GROUP\nA,Project team\n", (3, "displayName")),
        ("displayName\nA\u202e\n\u200b\n", (2, "displayName")),
    ],
)
def test_it_rejects_faulty_cells_with_their_place(text: str, place: tuple[int, str]) -> None:
    _, faults = read_rows(read_table(text.encode()), lambda address: USERS.get(address, []))

    assert [(each.line, each.column) for each in faults] == [place]


def test_it_works(groups: ImportFixture, ada: Shell) -> None:
    groups.write(
        "displayName,template,owners,members,metadata.el-text-1",
        f"{groups.word} choir,Project group,{BEN},{CLEO};{ADA},x",
        f"{groups.word} team,Project team,,,",
    )

    previewed = ada.run("group", "import", str(groups.file), "--dry-run", "--json")
    first = ada.run("group", "import", str(groups.file), "--wait")
    second = ada.run("group", "import", str(groups.file))

    assert [each["refused"] for each in previewed.lines] == ["", ""], previewed.err
    assert (first.code, "2 rows: 2 active." in first.err) == (0, True), first.err
    assert "2 rows: 2 there already." in second.err
    statement = "SELECT body::text FROM chamberlain.request WHERE display_name = $1"
    group = json.loads(str(look_up(groups.service.embedded_addresses.worker, statement, f"{groups.word} choir")))
    assert (group["owners"], group["members"]) == ([BEN], [CLEO, ADA])


def test_a_killed_import_continues_and_requests_each_group_once(groups: ImportFixture) -> None:
    groups.write("displayName,templateId", *(f"{groups.word} {each},{GROUP_TEMPLATE}" for each in range(40)))

    groups.killed_after(5)
    on_record = groups.on_record()
    done = groups.run()

    assert done.returncode == 0, done.stderr
    assert groups.outcomes().total() == 40
    assert groups.outcomes()["present"] >= on_record >= 5
    names = look_up(
        groups.service.embedded_addresses.worker,
        "SELECT string_agg(display_name, ';') FROM chamberlain.request WHERE starts_with(display_name, $1)",
        groups.word,
    )
    assert Counter(str(names).split(";")) == {f"{groups.word} {each}": 1 for each in range(40)}


def test_refused_rows_are_reported_and_others_continue(groups: ImportFixture) -> None:
    groups.write(
        "displayName,templateId,owners",
        f"{groups.word} a,{GROUP_TEMPLATE},0000dead-0000-4000-8000-000000000000",
        f"{groups.word} b,{GROUP_TEMPLATE},",
    )

    done = groups.run()

    assert done.returncode == 1
    refused, accepted = groups.report()
    assert (refused["outcome"], refused["code"], refused["detail"].startswith("owners")) == (
        "refused",
        "notPossible",
        True,
    )
    assert accepted["outcome"] == "accepted"
