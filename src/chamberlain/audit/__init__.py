# SPDX-License-Identifier: Apache-2.0
"""The audit trail: list, export, seal and verify it, and erase users.

Rows are written by `changes`.
"""
