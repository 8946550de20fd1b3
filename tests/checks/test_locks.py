# SPDX-License-Identifier: Apache-2.0
import json
import re
import tomllib
from pathlib import Path

import pytest

import dev

pytestmark = pytest.mark.pure

REQUIREMENT = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*(\[[a-z,-]+\])?)==(?P<version>[0-9a-z.]+)( ; [^\\]+)? \\\n")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?\n")
COMMENT = re.compile(r"\s*(#.*)?\n")

every_lock = pytest.mark.parametrize("lock", sorted(dev.LOCKS))


@every_lock
def test_it_works_by_hashes_alone(lock: str) -> None:
    hashes: dict[str, int] = {}
    name = ""
    for line in lines(lock):
        if requirement := REQUIREMENT.fullmatch(line):
            name = requirement["name"]
            hashes[name] = 0
        elif HASH.fullmatch(line):
            hashes[name] += 1
        else:
            pytest.fail(f"Neither a pinned requirement nor a hash: {line}")

    assert hashes
    assert all(hashes.values())


@every_lock
def test_it_rejects_addresses_and_paths(lock: str) -> None:
    text = (dev.ROOT / lock).read_text()

    assert not re.search(r"://|file:|--(find-links|index|extra)|(^|\s)\.?/", text)


def test_the_lock_of_npm_has_hashes_and_no_addresses() -> None:
    text = (dev.TYPESCRIPT / "package-lock.json").read_text()
    (root, *packages) = json.loads(text)["packages"].items()

    assert root[1]["devDependencies"] == json.loads((dev.TYPESCRIPT / "package.json").read_text())["devDependencies"]
    assert all(package["integrity"].startswith("sha512-") for _, package in packages)
    assert "resolved" not in text
    assert "://" not in text


def test_it_works_for_all_that_pyproject_names() -> None:
    project = tomllib.loads((dev.ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]

    needed = names(project["project"]["dependencies"] + groups["build"]) - {"chamberlain-client"}
    assert needed <= versions("requirements.lock").keys()
    assert names(project["project"]["optional-dependencies"]["traces"]) <= versions("requirements-traces.lock").keys()
    assert names(groups["test"]) <= versions("requirements-test.lock").keys()
    assert names(groups["clients"]) <= versions("requirements-clients.lock").keys()
    assert names(groups["docs"]) <= versions("requirements-docs.lock").keys()
    assert names(groups["ordinary"]) <= versions("requirements-ordinary.lock").keys()


def test_it_rejects_two_versions_in_one_environment() -> None:
    service, others = versions("requirements.lock"), ("requirements-test.lock", "requirements-traces.lock")

    for beside in map(versions, others):
        assert {name: beside[name] for name in beside.keys() & service.keys()}.items() <= service.items()


def lines(lock: str) -> list[str]:
    return [line for line in Path(dev.ROOT, lock).read_text().splitlines(keepends=True) if not COMMENT.fullmatch(line)]


def versions(lock: str) -> dict[str, str]:
    return {found["name"]: found["version"] for line in lines(lock) if (found := REQUIREMENT.fullmatch(line))}


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[ ]", requirement)[0].lower().replace("_", "-") for requirement in requirements}
