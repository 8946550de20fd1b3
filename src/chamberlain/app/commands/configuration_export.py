"""Writing configuration files from what is true."""

import asyncio
import os
from pathlib import Path

from chamberlain.app.commands.configuration_configurations import export_configuration
from chamberlain.cli.errors import failed, told_faults
from chamberlain.core.ids import TenantId
from chamberlain.settings import Settings


def export_files(settings: Settings, tenant_id: TenantId | None, path: Path | None) -> None:
    """Write the file, or print it where none is named. The file is there whole, or as it was before."""
    with told_faults():
        text = asyncio.run(export_configuration(settings, tenant_id))
    if path is None:
        print(text, end="")
        return
    try:
        _write(path.resolve(), text)
    except OSError as error:
        raise failed(f"{path} cannot be written ({error.strerror}).") from error


def _write(path: Path, text: str) -> None:
    if path.exists() and not path.is_file():
        # A pipe or a terminal, which nothing may be put in the place of.
        path.write_text(text, encoding="utf-8")
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
