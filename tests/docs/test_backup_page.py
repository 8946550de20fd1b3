# SPDX-License-Identifier: Apache-2.0
"""The page about backups does what it says, word for word, beside a running service."""

import sys
from pathlib import Path

import pytest

from tests.docs.commands import printed
from tests.docs.homes import give, home
from tests.docs.pages import ROOT, shell_blocks
from tests.services import Service

PAGE = ROOT / "docs" / "how-to" / "backup.md"
BY_HAND = ROOT / "deploy" / "systemd" / "by-hand"


@pytest.mark.heavy
def test_it_works(service: Service) -> None:
    backup, keep_keys, bring_keys, put_aside, restore = shell_blocks(PAGE)
    with home() as other, home() as backups:
        (other / "postgres" / "data").mkdir(parents=True)
        give(other)

        said = run(service, backups, service.data_dir, backup)
        run(service, backups, service.data_dir, keep_keys)
        restored = run(service, backups, other, bring_keys, put_aside, restore)

        assert "has the whole database as of" in said
        assert "has started to its end" in restored
        assert "lacks" not in restored
        assert (other / "keys").read_bytes() == (service.data_dir / "keys").read_bytes()
        assert (other / "postgres" / "data").stat().st_mode & 0o077 == 0
        assert list((other / "postgres-before" / "data").iterdir()) == []
        assert (backups / "elsewhere" / "chamberlain-keys").stat().st_mode & 0o777 == 0o600
        assert (backups / "chamberlain").stat().st_mode & 0o777 == 0o700


def run(service: Service, backups: Path, data_dir: Path, *blocks: str) -> str:
    """The output of the blocks on a machine with these folders and a single user."""
    there = {"/opt/chamberlain/.venv": sys.prefix, "/etc/chamberlain": f"{backups}/nothing"}
    there |= {"/var/lib/chamberlain": str(data_dir), "/var/backups": str(backups)}
    by_hand = backups / "by-hand"
    by_hand.write_text(replaced(BY_HAND.read_text(encoding="utf-8"), there))
    there |= {"runuser -u chamberlain -- /opt/chamberlain/deploy/systemd/by-hand": f"sh {by_hand}"}
    there |= {" -o chamberlain -g chamberlain": ""}
    # It is stopped there already.
    return printed(service, "systemctl() { :; }", *(replaced(block, there) for block in blocks))


def replaced(text: str, places: dict[str, str]) -> str:
    for place, other in places.items():
        text = text.replace(place, other)
    return text
