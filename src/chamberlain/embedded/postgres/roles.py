# SPDX-License-Identifier: Apache-2.0
"""The roles of the server, their privileges and their addresses."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

SET_UP = "chamberlain_set_up"
OWNER = "chamberlain_owner"
APPLICATION = "chamberlain_application"
WORKER = "chamberlain_worker"

ALL = (SET_UP, OWNER, APPLICATION, WORKER)


def role_statements() -> list[str]:
    """Create the three roles.

    Policies let the worker see all tenants, so no role bypasses row-level security.
    """
    attributes = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
    return [f"CREATE ROLE {role} {attributes}" for role in (OWNER, APPLICATION, WORKER)]


def closing_statements() -> list[str]:
    """Revoke the default privileges of PUBLIC.

    In template1, this applies to all later databases.
    """
    return [
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        "REVOKE ALL ON DATABASE postgres FROM PUBLIC",
        "REVOKE ALL ON DATABASE template1 FROM PUBLIC",
    ]


def database_statements(database: str) -> list[str]:
    """Create a database; only the three roles can connect to it."""
    name = quote_identifier(database)
    return [
        f"CREATE DATABASE {name} OWNER {OWNER}",
        f"REVOKE ALL ON DATABASE {name} FROM PUBLIC",
        f"GRANT CONNECT ON DATABASE {name} TO {APPLICATION}, {WORKER}",
    ]


def quote_identifier(identifier: str) -> str:
    """Quote a name for SQL."""
    return '"' + identifier.replace('"', '""') + '"'


# Only part of the socket's file name; the server does not listen on a network.
PORT = 5432
SOCKET_NAME = f".s.PGSQL.{PORT}"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of one database for the three roles of the service."""

    owner: str
    application: str
    worker: str


def addresses_in(socket_folder: Path, database: str) -> Addresses:
    """Return the addresses of a database for the three roles."""
    return Addresses(
        owner=address(socket_folder, OWNER, database),
        application=address(socket_folder, APPLICATION, database),
        worker=address(socket_folder, WORKER, database),
    )


def address(socket_folder: Path, role: str, database: str) -> str:
    """Return the address of a database for one role."""
    # Overrides PGPORT in the environment.
    where = urlencode({"host": str(socket_folder), "port": PORT}, quote_via=quote, safe="/")
    return f"postgresql://{role}@/{quote(database, safe='')}?{where}"
