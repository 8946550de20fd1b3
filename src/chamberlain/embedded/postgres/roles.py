"""The roles of the server, and what each may do in a database."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

SET_UP = "chamberlain_set_up"
OWNER = "chamberlain_owner"
APPLICATION = "chamberlain_application"
WORKER = "chamberlain_worker"

ALL = (SET_UP, OWNER, APPLICATION, WORKER)


def role_statements() -> list[str]:
    """Make the three roles. What the worker sees of all tenants, policies give it, so that none has to bypass them."""
    without = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION"
    return [
        f"CREATE ROLE {OWNER} {without} NOBYPASSRLS",
        f"CREATE ROLE {APPLICATION} {without} NOBYPASSRLS",
        f"CREATE ROLE {WORKER} {without} NOBYPASSRLS",
    ]


def closing_statements() -> list[str]:
    """Take from everybody what PostgreSQL gives to everybody; run in template1, so every later database has it too."""
    return [
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        "REVOKE ALL ON DATABASE postgres FROM PUBLIC",
        "REVOKE ALL ON DATABASE template1 FROM PUBLIC",
    ]


def database_statements(database: str) -> list[str]:
    """Make a database that the owner owns and that the two others may connect to, and nothing more."""
    name = quote_identifier(database)
    return [
        f"CREATE DATABASE {name} OWNER {OWNER}",
        f"REVOKE ALL ON DATABASE {name} FROM PUBLIC",
        f"GRANT CONNECT ON DATABASE {name} TO {APPLICATION}, {WORKER}",
    ]


def quote_identifier(identifier: str) -> str:
    """Write a name so that SQL takes it as it is."""
    return '"' + identifier.replace('"', '""') + '"'


# Part of the socket's file name only; nothing listens on a network.
PORT = 5432
SOCKET_NAME = f".s.PGSQL.{PORT}"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of one database, for the three roles that the service uses."""

    owner: str
    application: str
    worker: str


def addresses_in(socket_folder: Path, database: str) -> Addresses:
    return Addresses(
        owner=address(socket_folder, OWNER, database),
        application=address(socket_folder, APPLICATION, database),
        worker=address(socket_folder, WORKER, database),
    )


def address(socket_folder: Path, role: str, database: str) -> str:
    # The port is written down so that a PGPORT in somebody's environment does not lead elsewhere.
    where = urlencode({"host": str(socket_folder), "port": PORT}, quote_via=quote, safe="/")
    return f"postgresql://{role}@/{quote(database, safe='')}?{where}"
