"""How the server is addressed: one address for each role, over the unix socket."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from chamberlain.embedded.postgres import roles

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
        owner=address(socket_folder, roles.OWNER, database),
        application=address(socket_folder, roles.APPLICATION, database),
        worker=address(socket_folder, roles.WORKER, database),
    )


def address(socket_folder: Path, role: str, database: str) -> str:
    # The port is written down so that a PGPORT in somebody's environment does not lead elsewhere.
    where = urlencode({"host": str(socket_folder), "port": PORT}, quote_via=quote, safe="/")
    return f"postgresql://{role}@/{quote(database, safe='')}?{where}"
