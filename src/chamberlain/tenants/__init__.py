# SPDX-License-Identifier: Apache-2.0
"""Tenants: administrators read and replace theirs, operators manage all.

Tenants are created from configuration files, and not here.
"""
