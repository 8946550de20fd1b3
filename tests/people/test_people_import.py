# SPDX-License-Identifier: Apache-2.0
"""`chamberlain people import` against a running service."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from chamberlain.cli.import_.table import read_table
from chamberlain.people.import_.rows import ENTERPRISE, read_table_rows
from tests.cli.import_fixture import ImportFixture
from tests.commands import run_here
from tests.services import ADA, API, TLS, Service


@dataclass(frozen=True, slots=True)
class PeopleImport(ImportFixture):
    """An import of people by the sample application."""

    @property
    def environment(self) -> Mapping[str, str]:
        return {**super(PeopleImport, self).environment, "CHAMBERLAIN_TOKEN": self.token()}

    def token(self) -> str:
        return self.service.token("automation", f"{API}/.default")

    def find(self, filter_: str) -> Any:  # noqa: ANN401 - the JSON of the response is under test.
        answer = httpx2.get(
            f"{self.service.url}/scim/v2/Users",
            params={"filter": filter_},
            headers={"Authorization": f"Bearer {self.token()}"},
            verify=TLS,
            timeout=30,
        )
        return answer.json()["Resources"]


@pytest.fixture
def people(service: Service, tmp_path: Path) -> PeopleImport:
    return PeopleImport(service, tmp_path, "people")


@pytest.mark.pure
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("userName,departement\na,b\n", (1, "departement")),
        ("externalId\na\n", (1, "userName")),
        ("userName,externalId\na,1\nb,1\n", (3, "externalId")),
        ("userName\nA\na\n", (3, "userName")),
        ("userName,active\na,perhaps\n", (2, "active")),
        ("userName,id\na,b\n", (2, "id")),
        ("userName,title\n,Head\n", (2, "userName")),
        ("userName,title\na," + "x" * 1025 + "\n", (2, "title")),
    ],
)
def test_a_fault_has_its_line_and_column(text: str, place: tuple[int, str]) -> None:
    _, faults = read_table_rows(read_table(text.encode()))

    assert [(fault.line, fault.column) for fault in faults] == [place]


def test_it_works_twice_and_changes_what_differs(people: PeopleImport) -> None:
    word = people.word
    header = "userName,externalId,givenName,department,email,mobile,active,manager"
    # The manager of the first row is in the second one.
    people.write(
        header,
        f"{word}-a@estate.example,{word}-1,Mia,Design,{word}-a@estate.example,+47 1,true,{word}-2",
        f"{word}-b@estate.example,{word}-2,Leo,Design,,,false,{ADA}",
        f"{word}-c@estate.example,,Noor,,ada@estate.example,,,",
        f"{word}-d@estate.example,,Ida,,,,,nobody@estate.example",
    )

    previewed = people.run("--dry-run", "-o", "json")
    assert (previewed.returncode, people.find(f'userName sw "{word}"')) == (1, [])
    done = people.run()

    # One address is taken, and one manager unknown.
    assert done.returncode == 1, done.stderr
    assert dict(people.outcomes()) == {"active": 2, "conflict": 1, "refused": 1}
    mia, leo = sorted(people.find(f'externalId sw "{word}"'), key=lambda one: str(one["externalId"]))
    assert mia[ENTERPRISE]["manager"]["value"] == leo["id"]
    assert leo[ENTERPRISE]["manager"]["value"] == ADA
    assert (mia["active"], leo["active"], mia["phoneNumbers"]) == (True, False, [{"type": "mobile", "value": "+47 1"}])

    people.write(
        "userName,externalId,department,manager",
        f"{word}-a2@estate.example,{word}-1,Law,{word}-b@estate.example",
        f"{word}-b@estate.example,{word}-2,Design,{ADA}",
    )
    assert people.run().returncode == 0
    assert dict(people.outcomes()) == {"active": 1, "present": 1}
    [renamed] = people.find(f'externalId eq "{word}-1"')
    assert (renamed["userName"], renamed[ENTERPRISE]["department"]) == (f"{word}-a2@estate.example", "Law")
    # The import changes no other properties.
    assert (renamed["name"], renamed["emails"]) == (mia["name"], mia["emails"])

    # The journal has both rows; without it they are compared again.
    assert people.run().returncode == 0
    people.journal.unlink()
    assert people.run().returncode == 0
    assert dict(people.outcomes()) == {"present": 2}


@pytest.mark.heavy
def test_it_goes_on_after_a_kill(people: PeopleImport) -> None:
    people.write("userName", *(f"{people.word}-{number:03}@estate.example" for number in range(300)))

    people.killed_after(50)
    done = people.run()

    assert done.returncode == 0, done.stderr
    assert len(people.report()) == 300
    assert people.find(f'userName sw "{people.word}"')
    assert set(people.outcomes()) <= {"active", "present"}


def test_a_user_cannot_import_people(people: PeopleImport) -> None:
    people.write("userName", f"{people.word}@estate.example")
    token = people.service.token("ada@estate.example", f"{API}/.default")

    done = run_here(
        "people", "import", str(people.file), environment={**people.environment, "CHAMBERLAIN_TOKEN": token}
    )

    assert done.returncode == 3, done.stderr
