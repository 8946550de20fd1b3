# SPDX-License-Identifier: Apache-2.0
"""Tenants at a shell: listed, suspended, resumed, exported and deleted, beside a running service."""

import json
import os
import pwd
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.commands import run_here
from tests.services import CLEO_MAIL, GRAPH, GROUP_TEMPLATE, ZOE_MAIL, Service, restarted_service, run_command

ESTATE, OTHER_HOUSE = "e57a7e00-0000-4000-8000-000000000001", "e57a7e00-0000-4000-8000-000000000002"
NOBODY = "0000dead-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One of its own, since a tenant of it goes."""
    with restarted_service() as running:
        yield running


def run(service: Service, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return run_here("tenant", *arguments, "--data-dir", str(service.data_dir), typed=typed)


def printed(service: Service, *arguments: str, typed: str = "") -> str:
    done = run(service, *arguments, typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_works(service: Service) -> None:
    done = run_command("tenant", "list", "--data-dir", str(service.data_dir))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"{ESTATE}\tserved\tExample Estate\testate.example, rooms.estate.example\n"
        f"{OTHER_HOUSE}\tserved\tOther House\tother.example\n"
    )


def test_a_suspended_one_is_refused_and_comes_back(service: Service) -> None:
    body = {"displayName": "A group", "templateId": GROUP_TEMPLATE}
    assert service.post_group(body).status_code == 202

    assert "Example Estate is suspended" in printed(service, "suspend", ESTATE)
    # Ada's token was proven a moment ago, Cleo's was not.
    known, new = service.post_group(body), service.get("/requests/v1/", CLEO_MAIL)
    graph = service.graph("/groups", CLEO_MAIL)
    other = service.get("/graph/v1.0/groups", ZOE_MAIL, f"{GRAPH}/Group.Read.All")
    assert f"{ESTATE}\tsuspended\tExample Estate" in printed(service, "list")
    assert printed(service, "suspend", ESTATE) == "Example Estate is suspended already.\n"

    assert printed(service, "resume", ESTATE) == "Example Estate is served again.\n"
    assert printed(service, "resume", ESTATE) == "Example Estate is not suspended.\n"
    assert (known.status_code, new.status_code, graph.status_code) == (401, 401, 401)
    assert new.json()["code"] == "tokenInvalid"
    assert other.status_code == 200
    assert service.get("/requests/v1/", CLEO_MAIL).status_code == 200


def test_one_is_exported_as_lines_of_json(service: Service, tmp_path: Path) -> None:
    body = '{"displayName": "Two lines",\n\n "templateId": "' + GROUP_TEMPLATE + '"}'
    headers = {"content-type": "application/json"}
    answer = httpx2.post(service.groups_url, content=body, headers={**headers, **service.headers()}, timeout=30)
    assert answer.status_code == 202
    file = tmp_path / "estate.jsonl"

    said = printed(service, "export", ESTATE, str(file))

    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert said == f"{len(lines)} rows of tenant {ESTATE} are in {file}.\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {row["row"].get("tenant_id") for row in lines} == {ESTATE}
    tables = {row["table"] for row in lines}
    assert tables >= {"chamberlain.request", "chamberlain.audit", "directory.users", "identity.accounts"}
    assert "secret_hash" not in file.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [file]


def test_it_is_printed_where_no_file_is_named(service: Service) -> None:
    rows = [json.loads(line) for line in printed(service, "export", OTHER_HOUSE).splitlines()]

    assert {"table", "row"} == set(rows[0])
    assert {row["row"]["tenant_id"] for row in rows} == {OTHER_HOUSE}


def test_one_is_deleted_by_its_name(service: Service) -> None:
    assert run(service, "list", "--deleted").stderr == "There are no deleted tenants.\n"
    served = run(service, "delete", OTHER_HOUSE, typed="Other House\n")
    printed(service, "suspend", OTHER_HOUSE)
    wrong = [run(service, "delete", OTHER_HOUSE, typed=typed) for typed in ("other house\n", "")]

    done = printed(service, "delete", OTHER_HOUSE, typed="Other House\n")

    assert served.returncode == 1
    assert f"Suspend it first: `chamberlain tenant suspend {OTHER_HOUSE}`." in served.stderr
    assert [(each.returncode, each.stderr) for each in wrong] == [
        (1, "That is not its name. Nothing was removed.\n")
    ] * 2
    assert "         1  chamberlain.tenant\n" in done
    assert "directory." not in done
    assert f"Other House ({OTHER_HOUSE}) is gone: " in done
    assert OTHER_HOUSE not in printed(service, "list")
    (line,) = printed(service, "list", "--deleted").splitlines()
    who = pwd.getpwuid(os.getuid()).pw_name
    assert re.fullmatch(
        rf"\S+Z\t{OTHER_HOUSE}\tOther House\tCommand line \({who}\)\t[1-9]\d*:sha256:[0-9a-f]{{64}}", line
    )
    assert service.get("/requests/v1/").status_code == 200


@pytest.mark.parametrize("word", ["suspend", "resume", "export", "delete"])
@pytest.mark.parametrize(("name", "code"), [(NOBODY, 1), ("Other House", 4)])
def test_it_rejects_a_tenant_that_is_not_there(
    service: Service, tmp_path: Path, word: str, name: str, code: int
) -> None:
    file = (str(tmp_path / "file"),) if word == "export" else ()

    done = run(service, word, name, *file)

    assert (done.returncode, done.stdout) == (code, "")
    assert "There is no tenant" in done.stderr
    assert "chamberlain tenant list" in done.stderr
    assert list(tmp_path.iterdir()) == []
