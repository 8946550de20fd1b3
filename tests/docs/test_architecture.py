"""What ARCHITECTURE.md names exists, and every package has its sign."""

import re

from tests.docs.pages import ROOT, named, section

PAGE = ROOT / "ARCHITECTURE.md"
SOURCE = ROOT / "src" / "chamberlain"


def test_it_works_for_every_package() -> None:
    packages = {
        ".".join(path.parent.relative_to(SOURCE.parent).parts)
        for path in SOURCE.parent.glob("chamberlain*/**/*.py")
        if path.parent != SOURCE
    }

    assert set(named(section(PAGE, "## A sign on every door"))) == packages


def test_every_file_that_it_names_is_there() -> None:
    names = re.findall(r"`([\w./-]+(?:\.py|\.sql|/))`", PAGE.read_text(encoding="utf-8"))
    # Names that stand for any, and endings, name no file.
    files = [name for name in names if not name.startswith(".") and "NNNN" not in name]
    folders = (ROOT, SOURCE, SOURCE / "store")

    assert files
    assert [name for name in files if not any((folder / name).exists() for folder in folders)] == []


def test_every_module_beside_the_packages_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    modules = [path.name for path in SOURCE.glob("*.py") if not path.name.startswith("__")]

    assert [name for name in modules if f"`{name}`" not in text] == []
