# SPDX-License-Identifier: Apache-2.0
"""Adapter of Microsoft 365 by Microsoft Graph v1.0.

It has people, groups, teams and guests.

`operations` lists the calls, each with its permission. `wire` sends them, `calls` has a function for each, and the
ports are composed of these. Nothing here is confirmed by a tenant yet: docs/reference/microsoft365.md says what is not.
"""
