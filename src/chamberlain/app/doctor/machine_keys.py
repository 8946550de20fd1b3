"""The keys file: whether it is there, whose it is, and whether it has every key that something is sealed with."""

import stat
from collections.abc import Sequence

from chamberlain.app.doctor import store
from chamberlain.app.doctor.checks import judge_keys, judge_overlaps
from chamberlain.app.doctor.checks_looks import look
from chamberlain.app.doctor.database import Opened
from chamberlain.app.doctor.store import telling
from chamberlain.core.checkups import Checkup, doubtful, faulty, well
from chamberlain.database.clock import decision_time
from chamberlain.database.transactions import Transaction
from chamberlain.embedded.identity.errors import IdentityUnreachable
from chamberlain.embedded.identity.sealed_keys import sealing_keys
from chamberlain.secrets.keyring import KeysUnusable, load_keyring


async def look_at_keys(opened: Opened) -> Sequence[Checkup]:
    """The file, and what the database needs of it."""
    path = opened.settings.keys_file
    known: frozenset[str] = frozenset()
    found: list[Checkup] = []
    try:
        # Reading it would make it where there is none.
        if path.exists():
            known = frozenset(load_keyring(path).keys)
            found += _permissions(opened)
    except KeysUnusable as error:
        found.append(faulty("keys", "The keys file cannot be used.", str(error)))
    except OSError as error:
        cure = "Run this as who runs the service."
        found.append(faulty("keys", f"{path} cannot be looked at ({error.strerror}).", cure))

    async def ours(tx: Transaction) -> Sequence[Checkup]:
        used = await store.sealing_keys(tx) | await _theirs(opened)
        if not known and not used:
            return [well("keys", f"There is no {path} yet, and nothing is sealed. The first start makes it.")]
        return [
            judge_keys(known, used, file=str(path)),
            judge_overlaps(await store.overlaps(tx), await decision_time(tx)),
        ]

    try:
        return [*found, *await look("keys", opened.worker, ours)]
    except IdentityUnreachable as error:
        return [*found, faulty("keys", str(error), "Run `chamberlain doctor` again.")]


def _permissions(opened: Opened) -> Sequence[Checkup]:
    path = opened.settings.keys_file
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO) == 0:
        return ()
    return [doubtful("keys", f"Others than its owner can use {path} (mode {mode:o}).", f"chmod 600 {path}")]


async def _theirs(opened: Opened) -> frozenset[str]:
    """Those that the embedded identity platform has sealed its own with. Raises IdentityUnreachable."""
    if opened.application is None:
        return frozenset()
    with telling():
        return frozenset(await sealing_keys(opened.application.pool))
