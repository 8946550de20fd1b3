"""The key ring: secrets at rest are sealed with AES-GCM, bound to the place where they are kept."""

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from chamberlain.secrets.keys_file import Keys, KeysFile, KeysUnusable

__all__ = ["Keyring", "KeysUnusable", "load_keyring"]

# NIST SP 800-38D, 8.2: 96 bits of nonce are what the mode is made for.
NONCE_BYTES = 12


class Keyring:
    """Keys by id; `first` is the one that seals. `newer` gives other keys in their place, when there are any; it is
    asked each time."""

    def __init__(
        self, first: str, keys: Mapping[str, bytes], *, newer: Callable[[], Keys | None] = lambda: None
    ) -> None:
        self.first = first
        self.keys = keys
        self._newer = newer

    def __repr__(self) -> str:
        return f"Keyring(first={self.first!r})"

    def seal(self, plain: bytes, context: str) -> bytes:
        """Seal for one place: `context` names tenant, table and row, and opening needs the same again."""
        self._follow()
        nonce = secrets.token_bytes(NONCE_BYTES)
        name = self.first.encode()
        return bytes([len(name)]) + name + nonce + AESGCM(self.keys[self.first]).encrypt(nonce, plain, context.encode())

    def open(self, sealed: bytes, context: str) -> bytes:
        """Open what was sealed for this place. Raises KeysUnusable."""
        end = 1 + sealed[0] if sealed else 0
        nonce, rest = sealed[end : end + NONCE_BYTES], sealed[end + NONCE_BYTES :]
        name = sealed[1:end].decode(errors="replace")
        # Another process may have sealed it with a key that was made meanwhile; and one that was dropped opens no more.
        self._follow()
        key = self.keys.get(name)
        if key is None:
            raise KeysUnusable(f'The keys file has no key "{name}", with which a stored secret is sealed. Put it back.')
        try:
            return AESGCM(key).decrypt(nonce, rest, context.encode())
        except (InvalidTag, ValueError) as error:
            # A nonce that is cut off is a ValueError.
            raise KeysUnusable(
                f'A secret sealed with the key "{name}" does not open: the key or the row was changed.'
            ) from error

    def _follow(self) -> None:
        if (keys := self._newer()) is not None:
            self.first, self.keys = keys.first, keys.by_id


def load_keyring(path: Path) -> Keyring:
    """The keys of a file, which is made where there is none; the ring follows it when it changes. Raises KeysUnusable
    with what to do."""
    file = KeysFile(path)
    file.make()
    keys = file.read()
    return Keyring(keys.first, keys.by_id, newer=file.newer)
