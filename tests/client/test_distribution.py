# SPDX-License-Identifier: Apache-2.0
"""Install the SDK without the service."""

import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from chamberlain_client import __version__
from tests.docs.pages import ROOT

PROJECT = ROOT / "src"
# Import all modules in a Python that sees only the given packages. The editable installation of the service is not
# among them: only the site module, which -S disables, reads its path file.
PROGRAM = """
import importlib.util, pkgutil, sys
sys.path += sys.argv[1:]
import chamberlain_client
for each in pkgutil.walk_packages(chamberlain_client.__path__, "chamberlain_client."):
    importlib.import_module(each.name)
assert importlib.util.find_spec("chamberlain") is None
assert not any(name.partition(".")[0] in {"chamberlain", "starlette", "asyncpg"} for name in sys.modules)
print(chamberlain_client.__file__, chamberlain_client.__version__)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the SDK."""
    folder = tmp_path_factory.mktemp("installed")
    quiet = ("--quiet", "--disable-pip-version-check", "--root-user-action=ignore", "--no-compile")
    offline = ("--no-build-isolation", "--no-deps", "--no-index")
    subprocess.run([sys.executable, "-m", "pip", "install", *quiet, *offline, "--target", folder, PROJECT], check=True)
    return folder


@pytest.mark.heavy
def test_it_works(installed: Path) -> None:
    libraries = sysconfig.get_path("purelib")
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(installed), libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.stdout.split() == [str(installed / "chamberlain_client" / "__init__.py"), __version__], done.stderr


def test_it_has_types_and_its_licence(installed: Path) -> None:
    (about,) = installed.glob("chamberlain_client-*.dist-info")

    assert (installed / "chamberlain_client" / "py.typed").exists()
    assert (about / "licenses" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert not (installed / "chamberlain").exists()


def test_its_dependencies_are_locked_by_the_service() -> None:
    """The SDK is tested with the versions of the lock of the service."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    service = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["msal"]]

    assert {name(each) for each in wanted} == {"httpx2", "msgspec", "msal"}
    assert {name(each) for each in wanted} <= {name(each) for each in service["dependencies"]}


def name(requirement: str) -> str:
    return requirement.partition(">")[0]
