# SPDX-License-Identifier: Apache-2.0
"""Settings of the connection to Microsoft 365, as a TOML file.

The address of the connection has the cloud and the id of the directory. The file has the application and its
credential; keys and secrets are in files beside it. docs/reference/microsoft365.md has the table.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from chamberlain.directory.microsoft365.tokens import (
    Application,
    Certificate,
    Credential,
    Federation,
    ManagedIdentity,
    Secret,
)

# The most bytes of the file, and of a file with a key. Ours have less than a tenth.
_MOST_BYTES: Final = 65_536
# National clouds: Graph, and the sign-in that belongs to it ("National cloud deployments").
LOGINS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "graph.microsoft.com": "https://login.microsoftonline.com",
        "graph.microsoft.us": "https://login.microsoftonline.us",
        "dod-graph.microsoft.us": "https://login.microsoftonline.us",
        "microsoftgraph.chinacloudapi.cn": "https://login.partner.microsoftonline.cn",
    }
)
_DIRECTORY: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


class CreationMethod(StrEnum):
    """The operation that creates groups."""

    UPSERT = "upsert"
    POST = "post"


class Microsoft365SettingsInvalid(Exception):
    """The settings cannot be used.

    The text is a sentence for the administrator, without any secret.
    """


@dataclass(frozen=True, slots=True)
class Microsoft365Settings:
    """A directory of Microsoft 365, and the application that manages it."""

    graph: str
    directory: str
    application: Application
    creation: CreationMethod = CreationMethod.UPSERT


_Text = Annotated[str, Meta(min_length=1, max_length=1024)]
_FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$", max_length=128)]


class _Section(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class _Certificate(_Section, frozen=True):
    key_file: _FileName
    certificate_file: _FileName


class _Secret(_Section, frozen=True):
    secret_file: _FileName


class _Federation(_Section, frozen=True):
    token_file: _Text


class _ManagedIdentity(_Section, frozen=True):
    client_id: _Text | None = None


class SettingsFile(_Section, frozen=True):
    """The sections of the file. Exactly one is a credential."""

    client_id: _Text
    # Administrators of the tenant choose the address, and the operator writes this file.
    directory: _Text | None = None
    certificate: _Certificate | None = None
    secret: _Secret | None = None
    federation: _Federation | None = None
    managed_identity: _ManagedIdentity | None = None
    # For the directory of another Chamberlain, whose sign-in and resource are not those of a cloud.
    login: _Text | None = None
    resource: _Text | None = None
    creation: CreationMethod = CreationMethod.UPSERT


def read_settings(address: str, folder: Path, file_name: str) -> Microsoft365Settings:
    """Read the file with the settings, and the files with secrets.

    Raises Microsoft365SettingsInvalid. Blocks.
    """
    written = _parse(_read(folder, file_name))
    graph, _, directory = address.rpartition("/")
    if _DIRECTORY.fullmatch(directory) is None:
        raise Microsoft365SettingsInvalid(
            "The address has no id of a directory, such as https://graph.microsoft.com/ID."
        )
    if written.directory is not None and written.directory.lower() != directory.lower():
        raise Microsoft365SettingsInvalid("The address has another directory than the settings.")
    host = urlsplit(graph).hostname or ""
    login = written.login or LOGINS.get(host)
    if login is None:
        raise Microsoft365SettingsInvalid(f"The sign-in for {host} is not known. Set login.")
    application = Application(
        client_id=written.client_id,
        authority=f"{login.rstrip('/')}/{directory}",
        resource=written.resource or graph,
        credential=_credential(written, folder),
    )
    return Microsoft365Settings(graph, directory, application, written.creation)


def settings_version(folder: Path) -> object:
    """Return a value that changes with every file in a folder. Blocks."""
    try:
        return tuple(sorted((each.name, each.stat().st_mtime_ns) for each in folder.iterdir()))
    except OSError:
        return None


def _credential(written: SettingsFile, folder: Path) -> Credential:
    given = (written.certificate, written.secret, written.federation, written.managed_identity)
    if sum(each is not None for each in given) != 1:
        sentence = "Exactly one of the sections certificate, secret, federation and managed_identity is needed."
        raise Microsoft365SettingsInvalid(sentence)
    if written.certificate is not None:
        key, certificate = written.certificate.key_file, written.certificate.certificate_file
        return Certificate(_read(folder, key), _read(folder, certificate))
    if written.secret is not None:
        return Secret(_read(folder, written.secret.secret_file).strip())
    if written.federation is not None:
        return Federation(Path(written.federation.token_file))
    return ManagedIdentity(None if written.managed_identity is None else written.managed_identity.client_id)


def _parse(raw: str) -> SettingsFile:
    try:
        return msgspec.convert(tomllib.loads(raw), SettingsFile)
    except tomllib.TOMLDecodeError as error:
        raise Microsoft365SettingsInvalid(f"The file is no TOML: {error}.") from error
    except msgspec.ValidationError as error:
        raise Microsoft365SettingsInvalid(f"{error}.") from error


def _read(folder: Path, name: str) -> str:
    try:
        with (folder / name).open("rb") as file:
            read = file.read(_MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Microsoft365SettingsInvalid(f"The file {name} cannot be read.") from error
    if not read.strip():
        raise Microsoft365SettingsInvalid(f"The file {name} is empty.")
    return read
