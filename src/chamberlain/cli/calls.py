"""What all commands have in common that call the service: options that are said once, and how they end."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated

import typer

_COMMON: dict[str, object] = {
    "server": Annotated[str | None, typer.Option(metavar="URL", help="Address of the service.")],
    "port": Annotated[int | None, typer.Option(help="Port of the service, when it runs on this machine.")],
    "data_dir": Annotated[Path | None, typer.Option(help="Data folder of the service, when it runs on this machine.")],
    "ca": Annotated[Path | None, typer.Option(metavar="FILE", help="Certificates to trust beside the system's.")],
    "as_json": Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else on standard output.")],
}
_DEFAULTS: dict[str, object] = dict.fromkeys(_COMMON, None) | {"as_json": False}


def calls(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function whose first parameter is what it calls the service with.

    The command has the options of all such commands beside those of the function, and its exit codes.
    """

    @wraps(command)
    def run(
        *,
        server: str | None,
        port: int | None,
        data_dir: Path | None,
        ca: Path | None,
        as_json: bool,
        **options: object,
    ) -> None:
        from chamberlain.cli.calls_call import Call
        from chamberlain.cli.errors_refusals import told_refusals

        with told_refusals():
            _require_text(server, *options.values())
            command(Call.from_options(server=server, port=port, data_dir=data_dir, ca=ca, as_json=as_json), **options)

    signature = inspect.signature(command)
    own = list(signature.parameters.values())[1:]
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS[name], annotation=annotation)
        for name, annotation in _COMMON.items()
    ]
    # What typer reads of a function.
    run.__signature__ = signature.replace(parameters=[*own, *common])  # type: ignore[attr-defined]  # As wraps() does.
    run.__annotations__ = {each.name: each.annotation for each in (*own, *common)} | {"return": None}
    return run


def _require_text(*given: object) -> None:
    """Nothing, when all that was typed can be sent. Bytes that are no text come from the shell as half characters."""
    from chamberlain.cli.errors_misuse import Misused

    for each in given:
        if isinstance(each, list):
            _require_text(*each)
        elif isinstance(each, str) and not each.isascii() and any("\ud800" <= one <= "\udfff" for one in each):
            raise Misused(f"{each!a} is not text in UTF-8.")
