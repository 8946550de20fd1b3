# SPDX-License-Identifier: Apache-2.0
import subprocess
from pathlib import Path

import pytest

from checks import licences

pytestmark = pytest.mark.pure


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    return tmp_path


def write(repository: Path, name: str, text: str) -> Path:
    """Write a file that git tracks."""
    file = repository / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    subprocess.run(["git", "-C", str(repository), "add", name], check=True)
    return file


def test_it_works_for_a_file_with_the_line(repository: Path) -> None:
    write(repository, "tool.py", f'# {licences.LICENCE}\n"""A tool."""\n')

    assert licences.main([], repository) == 0


@pytest.mark.parametrize(
    ("name", "text", "added"),
    [
        ("tool.py", '"""A tool."""\n', '# SPDX-License-Identifier: Apache-2.0\n"""A tool."""\n'),
        ("empty/__init__.py", "", "# SPDX-License-Identifier: Apache-2.0\n"),
        ("run", "#!/bin/sh\nexit 0\n", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\nexit 0\n"),
        ("queries.sql", "SELECT 1;\n", "-- SPDX-License-Identifier: Apache-2.0\nSELECT 1;\n"),
        ("Containerfile", "FROM base\n", "# SPDX-License-Identifier: Apache-2.0\nFROM base\n"),
        ("page.html", "<p>\n", "{#- SPDX-License-Identifier: Apache-2.0 -#}\n<p>\n"),
        ("page.css", "p {}\n", "/* SPDX-License-Identifier: Apache-2.0 */\np {}\n"),
    ],
)
def test_it_adds_a_missing_line(repository: Path, name: str, text: str, added: str) -> None:
    file = write(repository, name, text)
    before = licences.main([], repository)

    licences.main(["--add"], repository)

    assert before == 1
    assert file.read_text(encoding="utf-8") == added
    assert licences.main([], repository) == 0


@pytest.mark.parametrize("name", ["README.md", "requirements.lock", "data.json", "database/migrations/0001_a.pre.sql"])
def test_it_skips_files_without_a_header(repository: Path, name: str) -> None:
    write(repository, name, "text\n")

    assert licences.main([], repository) == 0


def test_it_skips_files_that_git_does_not_track(repository: Path) -> None:
    (repository / "receiver.py").write_text("print()\n", encoding="utf-8")

    assert licences.main([], repository) == 0


def test_it_passes_without_a_repository(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text("print()\n", encoding="utf-8")

    assert licences.main([], tmp_path) == 0
