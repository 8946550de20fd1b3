# SPDX-License-Identifier: Apache-2.0
"""Commands as a user at a shell sees them."""

import socket
import threading
from pathlib import Path

import httpx2
import pytest

from tests.microsoft365.recorder import record
from tests.services import API, GRAPH, GROUP_TEMPLATE, Service, free_port, run_command


def test_it_works_to_ask_for_help() -> None:
    done = run_command("--help")

    assert done.returncode == 0
    assert all(word in done.stdout for word in ("serve", "worker", "migrate", "token"))


@pytest.mark.parametrize("command", ["serve", "worker", "migrate", "token"])
def test_it_explains_each_command(command: str) -> None:
    done = run_command(command, "--help")

    assert done.returncode == 0
    assert "--data-dir" in done.stdout


def test_it_prints_a_bare_token(service: Service) -> None:
    printed = service.run("token", "--user", "ada@estate.example", "--scope", f"{API}/collab/App.ReadWrite.All")

    assert printed == printed.strip() + "\n"
    headers = {"authorization": f"Bearer {printed.strip()}"}
    body = {"displayName": "By hand", "templateId": GROUP_TEMPLATE}
    assert httpx2.post(service.groups_url, json=body, headers=headers).status_code == 202


def test_it_prints_a_token_of_a_program(service: Service) -> None:
    printed = service.run("token", "--client", "automation", "--scope", f"{GRAPH}/.default")

    headers = {"authorization": f"Bearer {printed.strip()}"}
    assert record(httpx2.get(f"{service.url}/graph/v1.0/groups?$top=1", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        pytest.param(("--scope", "x"), "Name either a --user or a --client.", id="nobody"),
        pytest.param(("--user", "a", "--client", "b", "--scope", "x"), "Name either", id="both"),
        pytest.param(
            ("--user", "nobody@estate.example", "--scope", f"{API}/collab/App.ReadWrite.All"), "", id="unknown user"
        ),
        pytest.param(("--user", "ada@estate.example", "--scope", f"{API}/collab/Everything"), "", id="unknown scope"),
        pytest.param(("--client", "nothing", "--scope", f"{API}/.default"), "", id="unknown program"),
    ],
)
def test_it_rejects_a_token_with_a_sentence(service: Service, arguments: tuple[str, ...], cure: str) -> None:
    where = ("--port", str(service.port), "--data-dir", str(service.data_dir))

    done = run_command("token", *arguments, *where)

    assert (done.returncode, done.stdout) == (1, "")
    assert cure in done.stderr
    assert done.stderr.endswith(".\n")
    assert "Traceback" not in done.stderr


def test_it_rejects_a_token_when_nothing_runs(service: Service) -> None:
    port = free_port()
    arguments = ("--user", "ada@estate.example", "--scope", f"{API}/collab/App.ReadWrite.All")

    done = run_command("token", *arguments, "--port", str(port), "--data-dir", str(service.data_dir))

    assert done.returncode == 1
    assert f"does not answer on port {port + 1}. Start it first" in done.stderr


def test_it_rejects_a_token_to_somebody_who_may_not_read_the_data_folder(tmp_path: Path) -> None:
    done = run_command("token", "--user", "a", "--scope", "b", "--data-dir", str(tmp_path))

    assert done.returncode == 1
    assert "local.secret cannot be read" in done.stderr


def test_it_prints_the_migrations_with_the_roles() -> None:
    done = run_command("migrate", "--print")

    assert done.returncode == 0
    roles, *files = done.stdout.split("\n-- ")
    assert "CREATE ROLE chamberlain_application" in roles
    names = [file.splitlines()[0] for file in files]
    assert names[0] == "chamberlain/0001_chamberlain.pre.sql"
    assert "directory/sql/ensure_groups.sql" in names


def test_it_rejects_to_migrate_what_cannot_be_reached() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"postgresql://chamberlain_owner:secret@127.0.0.1:{nobody.getsockname()[1]}/chamberlain"
        done = run_command("migrate", environment={"CHAMBERLAIN_DATABASE_OWNER_URL": address})

    assert done.returncode == 1
    assert done.stderr.startswith("The database cannot be reached as its owner: ")
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


def test_it_rejects_to_migrate_without_an_address() -> None:
    done = run_command("migrate")

    assert done.returncode == 1
    assert "CHAMBERLAIN_DATABASE_OWNER_URL" in done.stderr


@pytest.mark.heavy
def test_it_rejects_a_worker_beside_the_embedded_database(tmp_path: Path) -> None:
    done = run_command("worker", "--data-dir", str(tmp_path))

    assert done.returncode == 1
    assert "needs an outside database" in done.stderr


def test_whoever_else_listens_on_the_port_is_not_shown_the_secret(service: Service) -> None:
    port = free_port()
    secret = (service.data_dir / "local.secret").read_bytes().strip()
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", port)) as plain, socket.create_server(("127.0.0.1", port + 1)) as tls:
        strangers = [threading.Thread(target=_listen, args=(each, heard)) for each in (plain, tls)]
        for stranger in strangers:
            stranger.start()
        done = run_command(
            "token", "--user", "a@b", "--scope", "c", "--port", str(port), "--data-dir", str(service.data_dir)
        )
        for listener in (plain, tls):
            listener.shutdown(socket.SHUT_RDWR)
        for stranger in strangers:
            stranger.join(10)

    assert done.returncode == 1
    assert "does not answer" in done.stderr
    assert heard
    assert not any(secret in each for each in heard)


def _listen(listener: socket.socket, heard: list[bytes]) -> None:
    """Keep what the first caller says, and hang up."""
    try:
        connection, _ = listener.accept()
    except OSError:
        return
    with connection:
        heard.append(connection.recv(65536))
