"""Writing configuration files from what is true."""

import asyncio
from pathlib import Path

from chamberlain.bootstrap.configurations import export_configuration
from chamberlain.cli.failing import failed, told_faults
from chamberlain.rules.ids import TenantId
from chamberlain.settings import Settings


def export_files(settings: Settings, tenant_id: TenantId | None, path: Path | None) -> None:
    """Write the file, or print it where none is named."""
    with told_faults():
        text = asyncio.run(export_configuration(settings, tenant_id))
    if path is None:
        print(text, end="")
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise failed(f"{path} cannot be written ({error.strerror}).") from error
