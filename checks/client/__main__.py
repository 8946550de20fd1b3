# SPDX-License-Identifier: Apache-2.0
"""Write the generated modules of the SDK, or compare them by `--check`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from checks.client import models, twin

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "src" / "chamberlain_client"
MODELS = CLIENT / "models.py"
ASYNCHRONOUS, SYNCHRONOUS = CLIENT / "asynchronous", CLIENT / "synchronous"


def main(arguments: list[str]) -> int:
    """Write or compare the generated modules."""
    try:
        wanted = generate(Path(sys.executable).parent / "ruff")
    except models.TableError as error:
        print(error)
        return 1
    current = {file: file.read_text(encoding="utf-8") for file in generated_files()}
    if "--check" not in arguments:
        for stale in current.keys() - wanted.keys():
            stale.unlink()
        for file, text in wanted.items():
            file.write_text(text, encoding="utf-8")
        return 0
    differing = sorted(file for file in current | wanted if current.get(file) != wanted.get(file))
    for file in differing:
        print(f"{file.relative_to(ROOT)} differs from a new generation. Run: python3 dev.py client")
    return 1 if differing else 0


def generate(ruff: Path) -> dict[Path, str]:
    """Generate all modules, in the format of the repository."""
    sources = {file.name: file.read_text(encoding="utf-8") for file in modules_of(ASYNCHRONOUS)}
    texts = {SYNCHRONOUS / name: twin.generate(name, text) for name, text in sources.items()}
    texts[MODELS] = models.generate()
    with tempfile.TemporaryDirectory() as folder:
        files = {Path(folder, file.name): file for file in texts}
        for temporary, file in files.items():
            temporary.write_text(texts[file], encoding="utf-8")
        # ruff sorts the imports of first-party modules by place, and the temporary folder has another one.
        first_party = 'lint.isort.known-first-party = ["chamberlain_client"]'
        options = ("--config", ROOT / "pyproject.toml", "--config", first_party, "--no-cache", "--quiet")
        # I sorts imports, UP028 writes `yield from`, F401 removes unused imports.
        fixes = ("--select=I,UP028,F401", "--fix", "--unsafe-fixes")
        subprocess.run([ruff, "check", *options, *fixes, *files], check=True, cwd=ROOT)
        subprocess.run([ruff, "format", *options, *files], check=True, cwd=ROOT)
        return {file: temporary.read_text(encoding="utf-8") for temporary, file in files.items()}


def generated_files() -> list[Path]:
    """List the generated files that exist."""
    return [*modules_of(SYNCHRONOUS), *([MODELS] if MODELS.exists() else [])]


def modules_of(folder: Path) -> list[Path]:
    """List the modules of a folder without `__init__.py`, written by hand."""
    return sorted(file for file in folder.glob("*.py") if file.name != "__init__.py")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
