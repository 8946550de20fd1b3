# SPDX-License-Identifier: Apache-2.0
"""Generators of clients read the OpenAPI document, drop nothing, and their clients work."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

import dev
from tests.clients.runs import PYTHON, said_by
from tests.services import ADA_MAIL, API, COLLAB, GROUP_TEMPLATE, Service

pytestmark = pytest.mark.heavy

# A JSON value of the document.
Json = Any

EVERYTHING = f"{COLLAB} {API}/mail/App.ReadWrite.All {API}/admin/Config.ReadWrite.All"


@pytest.fixture(scope="module")
def document(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The document of the running service as a file."""
    file = tmp_path_factory.mktemp("document") / "openapi.json"
    file.write_bytes(httpx2.get(f"{service.url}/openapi.json").content)
    return file


def operations_in(document: Path) -> list[Json]:
    paths: Json = json.loads(document.read_text())["paths"]
    return [operation for item in paths.values() for operation in item.values()]


def generate(command: list[str], folder: Path) -> str:
    """Run a generator, which must succeed without a warning; its output."""
    # The Python generators start the formatters of their environment.
    environment = {**os.environ, "PATH": f"{PYTHON.parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    return done.stdout


def test_openapi_python_client_creates_a_group_and_a_room(service: Service, document: Path, tmp_path: Path) -> None:
    program = str(PYTHON.parent / "openapi-python-client")
    generate([program, "generate", f"--path={document}", "--fail-on-warning"], tmp_path)

    # The project and the package have a name of their own, beside the SDK's.
    (package,) = tmp_path.glob("*/*_client")
    assert package.relative_to(tmp_path) == Path("chamberlain-api-client", "chamberlain_api_client")
    modules = [file for file in package.glob("api/*/*.py") if file.name != "__init__.py"]
    assert len(modules) == len(operations_in(document))

    said = said_by(
        "generated_client",
        service,
        PYTHONPATH=str(package.parent),
        API_URL=service.url,
        TOKEN=service.token(ADA_MAIL, EVERYTHING),
        GROUP_TEMPLATE=GROUP_TEMPLATE,
    )

    assert said["states"] == ["succeeded", "succeeded"]
    assert said["replayed"]
    assert said["group"]["displayName"] == "Generated"
    assert (said["room"]["type"], said["room"]["provisioningState"]) == ("room", "active")
    assert said["room"]["capacity"] == 8
    assert said["refused"]["code"] == "notPossible"
    assert said["refused"]["errors"][0]["pointer"] == "/templateId"


def test_models_of_datamodel_code_generator_parse_the_answers(service: Service, document: Path, tmp_path: Path) -> None:
    command = [
        str(PYTHON.parent / "datamodel-codegen"),
        "--input-file-type=openapi",
        "--formatters=builtin",
        "--use-annotated",
    ]
    output = ["--output-model-type=pydantic_v2.BaseModel", "--output=generated_schemas.py"]
    generate([*command, *output, f"--input={document}"], tmp_path)

    parsed = said_by(
        "generated_models",
        service,
        PYTHONPATH=str(tmp_path),
        API_URL=service.url,
        TOKEN=service.token(ADA_MAIL, EVERYTHING),
        DOCUMENT=str(document),
    )

    lists = (
        "/admin/collab/v1/templates/",
        "/admin/mail/v1/templates/",
        "/admin/collab/v1/policies/",
        "/admin/v1/audit/",
        "/directory/v1/people/",
    )
    assert all(parsed[path] for path in (*lists, "/admin/v1/tenant/", "/admin/mail/v1/templates/{templateId}/"))


@pytest.mark.needs("npm")
def test_types_of_openapi_typescript_compile_and_find_mistakes(document: Path, tmp_path: Path) -> None:
    programs = dev.TYPESCRIPT / "node_modules" / ".bin"
    types = tmp_path / "schema.ts"
    # Without the option, a default would make a property of a body required.
    generate(
        [str(programs / "openapi-typescript"), str(document), f"--output={types}", "--default-non-nullable=false"],
        tmp_path,
    )
    (tmp_path / "client.ts").write_bytes((dev.TYPESCRIPT / "client.ts").read_bytes())

    generate([str(programs / "tsc"), "--noEmit", "--strict", "client.ts"], tmp_path)

    described = types.read_text()
    assert all(f"    {operation['operationId']}: {{" in described for operation in operations_in(document))
