# SPDX-License-Identifier: Apache-2.0
"""The page about troubleshooting has symptoms that occur, with their codes."""

import httpx2
import pytest

from tests.docs.pages import REFERENCE, ROOT, rows, section, statuses
from tests.services import ADA_MAIL, COLLAB, Service, free_port, run_command

pytestmark = pytest.mark.heavy

PAGE = ROOT / "docs" / "troubleshooting.md"


def exit_code(symptom: str) -> int:
    """The exit code that the page has beside a symptom of a command."""
    (row,) = [row for row in rows(section(PAGE, "## Commands")) if f"`{symptom}`" in row[0]]
    return int(row[1])


@pytest.mark.parametrize(
    ("symptom", "command"),
    [
        ("No user is signed in", ("mailbox", "list")),
        ("cannot be reached", ("login", "--port", "{free}")),
        ("local.secret cannot be read", ("token", "--user", ADA_MAIL, "--scope", COLLAB, "--data-dir", "{empty}")),
    ],
)
def test_it_works(service: Service, symptom: str, command: tuple[str, ...]) -> None:
    empty = service.data_dir / "empty"
    empty.mkdir(exist_ok=True)
    arguments = [part.format(free=free_port(), empty=empty) for part in command]
    environment = {"CHAMBERLAIN_PORT": str(service.port), "CHAMBERLAIN_CONFIG_DIR": str(empty)}

    done = run_command(*arguments, environment=environment)

    assert done.returncode == exit_code(symptom), done.stderr
    assert symptom in done.stderr


def test_a_template_of_another_name_has_its_exit_code(service: Service) -> None:
    environment = {"CHAMBERLAIN_TOKEN": service.token(ADA_MAIL, COLLAB)}
    options = ("--port", str(service.port), "--data-dir", str(service.data_dir))

    done = run_command(
        "group", "create", "--template", "None", "--display-name", "None", *options, environment=environment
    )

    assert done.returncode == exit_code("There is no template"), done.stderr


def test_it_names_codes_with_their_statuses() -> None:
    of_the_page = statuses(section(PAGE, "## HTTP"))

    assert of_the_page.items() <= statuses(section(REFERENCE / "errors.md", "## On top of a document")).items()


def test_a_call_without_a_token_has_the_code(service: Service) -> None:
    answer = httpx2.get(f"{service.url}/requests/v1/")

    assert (answer.json()["code"], answer.status_code) == ("tokenMissing", 401)
