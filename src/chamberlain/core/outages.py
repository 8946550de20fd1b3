# SPDX-License-Identifier: Apache-2.0
"""Causes of database outages, and their mapping from errors.

Imports nothing of Chamberlain, so that the service and the embedded products report the same causes. Callers may see
the sentences, so they contain nothing of the error's own text.
"""

import errno
import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Outage(StrEnum):
    """The cause; its value is the `reasonCode` of checks and log lines."""

    DISK_FULL = "diskFull"
    OUT_OF_MEMORY = "outOfMemory"
    TOO_MANY_CONNECTIONS = "tooManyConnections"
    LIMIT_EXCEEDED = "limitExceeded"
    DATABASE_DESCRIPTORS = "databaseDescriptorsExhausted"
    DESCRIPTORS = "descriptorsExhausted"
    POOL = "poolExhausted"
    IO_ERROR = "ioError"
    STARTING = "databaseStarting"
    STOPPED = "databaseStopped"
    READ_ONLY = "databaseReadOnly"
    REFUSED = "connectionRefused"
    LOST = "connectionLost"
    NETWORK = "hostUnreachable"
    NO_ANSWER = "noAnswer"
    SIGN_IN = "signInRefused"
    MISSING = "databaseMissing"
    OTHER = "databaseUnavailable"

    @property
    def seen(self) -> str:
        """The cause as a sentence for callers and operators."""
        return _TEXTS[self][0]

    @property
    def cure(self) -> str:
        """The operator's next step."""
        return _TEXTS[self][1]

    @property
    def passes_by_itself(self) -> bool:
        """Return whether a retry may succeed without a change by an operator."""
        return self not in _PERMANENT

    @property
    def allows_reads(self) -> bool:
        """Return whether statements that only read may succeed meanwhile."""
        return self in _WRITES_ONLY


_RESTART = "Look at its log; it accepts connections again when the start or recovery is through."
_TEXTS: Mapping[Outage, tuple[str, str]] = MappingProxyType(
    {
        Outage.DISK_FULL: (
            "The disk of the database is full.",
            "Make room on the disk of the database. The service continues by itself.",
        ),
        Outage.OUT_OF_MEMORY: (
            "The database server has no memory left.",
            "Give the database server more memory, or lower its max_connections and work_mem.",
        ),
        Outage.TOO_MANY_CONNECTIONS: (
            "The database server has no free connection slots.",
            "Raise max_connections, use a connection pooler, or run fewer processes.",
        ),
        Outage.LIMIT_EXCEEDED: (
            "The database server has reached a configured limit.",
            "The log of the database server names the limit. Raise it.",
        ),
        Outage.DATABASE_DESCRIPTORS: (
            "The database server has no file descriptors left.",
            "Raise the limit of open files of the database server's processes (LimitNOFILE, ulimit -n).",
        ),
        Outage.DESCRIPTORS: (
            "This process of the service has no file descriptors left.",
            "Raise the limit of open files of the service (LimitNOFILE, ulimit -n), or close idle clients.",
        ),
        Outage.POOL: (
            "All connections of this process to the database are in use.",
            "Look for long statements and locks in pg_stat_activity, or run more processes.",
        ),
        Outage.IO_ERROR: (
            "The database server cannot read or write its files.",
            "Look at the log of the database server and of the kernel: the disk may be failing.",
        ),
        Outage.STARTING: ("The database server is starting, stopping or recovering.", _RESTART),
        Outage.STOPPED: ("The database server was stopped or has crashed.", _RESTART),
        Outage.READ_ONLY: (
            "The database server is a standby and accepts no writes.",
            "Wait for the failover, or name the primary in the address of the database.",
        ),
        Outage.REFUSED: (
            "Nothing accepts connections at the address of the database.",
            "Start the database, or correct the address.",
        ),
        Outage.LOST: (
            "The connection to the database was lost.",
            "Look at the log of the database server, and at the network between it and the service.",
        ),
        Outage.NETWORK: (
            "The host of the database cannot be reached or its name cannot be resolved.",
            "Check the host name in the address, the name server and the network.",
        ),
        Outage.NO_ANSWER: (
            "The database does not answer in time.",
            "Look at the load, locks and disk of the database server, and at the network.",
        ),
        Outage.SIGN_IN: (
            "The database server refuses the role or its password.",
            "Correct the role and password in the address, or pg_hba.conf.",
        ),
        Outage.MISSING: (
            "The database named in the address does not exist.",
            "Create the database, or correct its name in the address.",
        ),
        Outage.OTHER: ("The database cannot be reached.", "Look at the log of the database server."),
    }
)
_PERMANENT = frozenset({Outage.SIGN_IN, Outage.MISSING})
_WRITES_ONLY = frozenset(
    {Outage.DISK_FULL, Outage.OUT_OF_MEMORY, Outage.LIMIT_EXCEEDED, Outage.DATABASE_DESCRIPTORS, Outage.IO_ERROR}
)

# PostgreSQL's codes (its manual, appendix A), and classes of codes with one cause.
_SQLSTATES: Mapping[str, Outage] = MappingProxyType(
    {
        "53100": Outage.DISK_FULL,
        "53200": Outage.OUT_OF_MEMORY,
        "53300": Outage.TOO_MANY_CONNECTIONS,
        "53400": Outage.LIMIT_EXCEEDED,
        # The server reports EMFILE and ENFILE by the general code of the class (errcode_for_file_access).
        "53000": Outage.DATABASE_DESCRIPTORS,
        "58000": Outage.IO_ERROR,
        "58030": Outage.IO_ERROR,
        "57014": Outage.NO_ANSWER,
        "57P01": Outage.STOPPED,
        "57P02": Outage.STOPPED,
        "57P03": Outage.STARTING,
        "57P04": Outage.MISSING,
        "57P05": Outage.LOST,
        "25P03": Outage.LOST,
        "25006": Outage.READ_ONLY,
        "3D000": Outage.MISSING,
        "42501": Outage.SIGN_IN,
        "08": Outage.LOST,
        "28": Outage.SIGN_IN,
    }
)
_NUMBERS: Mapping[int, Outage] = MappingProxyType(
    {
        errno.ENOSPC: Outage.DISK_FULL,
        errno.EDQUOT: Outage.DISK_FULL,
        errno.EMFILE: Outage.DESCRIPTORS,
        errno.ENFILE: Outage.DESCRIPTORS,
        errno.ENOMEM: Outage.OUT_OF_MEMORY,
        errno.EIO: Outage.IO_ERROR,
        errno.ECONNREFUSED: Outage.REFUSED,
        # The socket file of a server that is not running.
        errno.ENOENT: Outage.REFUSED,
        errno.ECONNRESET: Outage.LOST,
        errno.ECONNABORTED: Outage.LOST,
        errno.EPIPE: Outage.LOST,
        errno.ETIMEDOUT: Outage.NO_ANSWER,
        errno.EHOSTUNREACH: Outage.NETWORK,
        errno.EHOSTDOWN: Outage.NETWORK,
        errno.ENETUNREACH: Outage.NETWORK,
        errno.ENETDOWN: Outage.NETWORK,
        errno.EADDRNOTAVAIL: Outage.NETWORK,
    }
)
# The event loop joins the errors of several addresses of one host into one without a number (Python 3.11).
_NUMBER_IN_TEXT = re.compile(r"\[Errno (\d+)\]")


def outage_of(error: BaseException) -> Outage:
    """Classify an error of the driver, the event loop or the system."""
    if isinstance(sqlstate := getattr(error, "sqlstate", None), str):
        return _SQLSTATES.get(sqlstate) or _SQLSTATES.get(sqlstate[:2], Outage.OTHER)
    if isinstance(error, OSError) and (number := _number(error)) is not None:
        # Negative numbers are those of name resolution (EAI_NONAME and others).
        return Outage.NETWORK if number < 0 else _NUMBERS.get(number, Outage.OTHER)
    if isinstance(error, TimeoutError):
        return Outage.NO_ANSWER
    # The driver lost its connection, often by an error of the system.
    if error.__cause__ is not None:
        return outage_of(error.__cause__)
    return Outage.LOST if isinstance(error, Exception) else Outage.OTHER


def _number(error: OSError) -> int | None:
    if error.errno is not None:
        return error.errno
    found = _NUMBER_IN_TEXT.search(str(error))
    return None if found is None else int(found[1])
