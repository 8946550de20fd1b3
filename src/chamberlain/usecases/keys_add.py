"""Add a key to the keys file that opens and does not seal yet, so that it can be brought to every machine first."""

from dataclasses import dataclass

from chamberlain.store.keys_file import KeysFile, new_key


@dataclass(frozen=True, slots=True)
class AddKey:
    """For whoever has the keys file; the database is not asked."""

    file: KeysFile

    def __call__(self) -> str:
        """The id of the new key. Raises KeysUnusable."""
        with self.file.alone():
            name, key = new_key()
            self.file.write(self.file.read().with_last(name, key))
        return name
