# SPDX-License-Identifier: Apache-2.0
"""A small Graph-compatible directory for many tenants.

It has users, groups, teams, labels and sites, in its own database schema. The package contains the tables
(`migrations/`, `sql/`), their queries, and the HTTP surface below `/v1.0`. It is a separate product: it does not know
the rules, tables and settings of the service.
"""
