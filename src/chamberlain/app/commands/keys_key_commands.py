"""Keys at the command line: shown, rotated and dropped by whoever has the keys file."""

from typing import Annotated

import typer

from chamberlain.cli.options_machine import DataDir, settings_of

keys = typer.Typer(name="keys", help="Show, rotate and drop the keys that seal what is stored.", no_args_is_help=True)

KeyArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of the key, as `keys list` shows it.")]


@keys.command("list")
def list_keys(data_dir: DataDir = None) -> None:
    """Print the keys of the keys file, and how much is sealed with each. The exit code is 1 when one is missing."""
    from chamberlain.app.commands.keys import list_keys

    list_keys(settings_of(data_dir=data_dir))


@keys.command("add")
def add_key(data_dir: DataDir = None) -> None:
    """Make a key that does not seal yet, to be brought to every machine first."""
    from chamberlain.app.commands.keys import add

    add(settings_of(data_dir=data_dir))


@keys.command("rotate")
def rotate_keys(
    to: Annotated[str | None, typer.Option(metavar="ID", help="A key of the file; without it a new one.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Have another key seal from now on, and seal what is stored anew with it, beside the running service."""
    from chamberlain.app.commands.keys import rotate

    rotate(settings_of(data_dir=data_dir), to)


@keys.command("drop")
def drop_key(key: KeyArgument, data_dir: DataDir = None) -> None:
    """Take a key out of the keys file. Refused while something is sealed with it."""
    from chamberlain.app.commands.keys import drop

    drop(settings_of(data_dir=data_dir), key)
