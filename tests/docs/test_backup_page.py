"""The page about backups does what it says, word for word, beside a running service."""

from pathlib import Path

from tests.docs.commands import printed
from tests.docs.pages import ROOT, shell_blocks
from tests.services import Service, data_folder

PAGE = ROOT / "docs" / "how-to" / "backup.md"


def test_it_works(service: Service, tmp_path: Path) -> None:
    backup, keep_keys, restore = shell_blocks(PAGE)
    backups = tmp_path / "backups"
    (backups / "elsewhere").mkdir(parents=True)
    with data_folder() as place:

        def run(block: str) -> str:
            here = block.replace("/var/backups", str(backups)).replace("/var/lib/chamberlain-restored", f"{place}/new")
            return printed(service, here)

        said = run(backup)
        run(keep_keys)
        restored = run(restore)

        assert "has the whole database as of" in said
        assert "has started to its end" in restored
        assert "lacks" not in restored
        assert (place / "new" / "keys").read_bytes() == (service.data_dir / "keys").read_bytes()
        assert (place / "new" / "postgres" / "data").stat().st_mode & 0o077 == 0
    assert (backups / "elsewhere" / "chamberlain-keys").stat().st_mode & 0o777 == 0o600
