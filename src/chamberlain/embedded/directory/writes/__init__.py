# SPDX-License-Identifier: Apache-2.0
"""Writes of single users, groups and teams, as an administrator makes them.

The HTTP surface and imports of people call these functions. Each takes the connection of a transaction of the worker's
role, and the tenant; each statement names the tenant. A refused write raises WriteRefused, and the caller rolls back.
Triggers record the changes (sql/changes.sql), so that discovery and drift find them. Provisioning in batches is in the
package above.
"""
