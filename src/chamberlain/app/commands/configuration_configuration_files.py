"""Configuration files as a command names them."""

from collections.abc import Sequence
from pathlib import Path

from chamberlain.cli.errors import failed, told_faults
from chamberlain.configuration.files import Configuration, ConfigurationFile, read_configurations
from chamberlain.configuration.yaml import MOST_BYTES


def read_files(paths: Sequence[Path]) -> Configuration:
    """What the files say together; one that cannot be used ends the command."""
    with told_faults():
        return read_configurations([_read(path) for path in paths])


def _read(path: Path) -> ConfigurationFile:
    try:
        with path.open("rb") as file:
            # One byte more than may be read tells that there are too many.
            return ConfigurationFile(str(path), file.read(MOST_BYTES + 1))
    except OSError as error:
        raise failed(f"{path} cannot be read ({error.strerror}).") from error
