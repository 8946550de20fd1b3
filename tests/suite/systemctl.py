# SPDX-License-Identifier: Apache-2.0
"""Start a server of a suite where a page says `systemctl`: python3 -m tests.suite.systemctl FOLDER SYNAPSE WORD ..."""

import sys
from pathlib import Path

from deploy.suite.folder import opened
from deploy.suite.processes import end
from deploy.suite.servers import Starter


def main() -> None:
    """Start the servers that the arguments name, with the configuration that the reader has written."""
    folder, python, *words = sys.argv[1:]
    suite = opened(Path(folder))
    for part in (word for word in words if word in {"slapd", "postgresql", *_OTHERS}):
        if part == "slapd":
            # The reader has loaded the entries.
            (suite.folder / "slapd" / "loaded").touch()
        if part == "postgresql":
            # The reader creates the databases. The package has created the cluster.
            sql = suite.folder / "postgresql" / "sql" / "databases.sql"
            sql.parent.mkdir(parents=True, exist_ok=True)
            sql.write_text("")
        end(suite, [part])
        Starter(suite, Path(python)).one(part)


_OTHERS = ("dovecot", "postfix", "memcached", "sogo", "synapse")

if __name__ == "__main__":
    main()
