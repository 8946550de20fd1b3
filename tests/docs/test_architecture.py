# SPDX-License-Identifier: Apache-2.0
"""ARCHITECTURE.md names every noun, files that exist, and fits on two screens."""

import ast
import configparser
import re

from tests.docs.pages import REFERENCE, ROOT

PAGE = ROOT / "ARCHITECTURE.md"
MECHANISMS = REFERENCE / "mechanisms.md"
SOURCE = ROOT / "src" / "chamberlain"


def test_it_works_for_every_folder() -> None:
    diagram = PAGE.read_text(encoding="utf-8").split("```mermaid")[1]
    folders = [path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()]

    assert [name for name in folders if not re.search(rf"\b{name}\b", diagram)] == []


def test_the_diagram_has_the_order_of_the_contract() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layers = re.findall(r"\w+", contracts["importlinter:contract:layers"]["layers"])
    diagram = PAGE.read_text(encoding="utf-8").split("```mermaid")[1].split("embedded[")[0]
    chains = [re.findall(r"\w+", chain) for chain in re.findall(r'"([\w >]+ > [\w >]+)"', diagram)]
    drawn = [name for chain in chains for name in chain]

    assert drawn == [name for name in layers if name in drawn]


def test_every_file_that_it_names_exists() -> None:
    for page in (PAGE, MECHANISMS):
        names = re.findall(r"`([\w./-]+(?:\.py|\.sql|/))`", page.read_text(encoding="utf-8"))
        files = [name for name in names if "/" in name and not name.startswith(".") and "NNNN" not in name]

        assert files
        assert [name for name in files if not any((place / name).exists() for place in (ROOT, SOURCE))] == []


def test_every_package_has_a_docstring() -> None:
    packages = {path: ast.parse(path.read_bytes()) for path in SOURCE.rglob("__init__.py")}

    assert [path for path, module in packages.items() if ast.get_docstring(module) is None] == []


def test_it_fits_on_two_screens() -> None:
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 120
