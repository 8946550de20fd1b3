# SPDX-License-Identifier: Apache-2.0
"""Writes use the worker's role, which sees all tenants, so each statement has to name the tenant."""

import re

from chamberlain.queries import load_queries

STATEMENTS = load_queries("chamberlain.embedded.directory.writes.users")
TABLE = re.compile(r"\bdirectory\.(?!lowered\b|unique_name\b)\w+")
TENANT = re.compile(r"\btenant_id = \$1|SELECT \$1\b|VALUES \(\$1\b")


def test_each_statement_names_the_tenant_for_each_table() -> None:
    too_few = [name for name, text in STATEMENTS.items() if len(TENANT.findall(text)) < len(TABLE.findall(text))]

    assert len(STATEMENTS) > 40
    assert too_few == []
