# SPDX-License-Identifier: Apache-2.0
"""Runs one PostgreSQL for many mutants: prints the address of its superuser, and ends with its standard input."""

import sys

from tests.postgres import running_postgres

if __name__ == "__main__":
    with running_postgres() as server:
        print(server.set_up_address, flush=True)
        sys.stdin.read()
