# SPDX-License-Identifier: Apache-2.0
"""Connections: the directory of a tenant, with its address, credential and state.

A tenant without a connection uses the embedded directory in the database of the service. Adapters are opened in `app`,
and no call of a directory may be here except the check of a connection. The noun is above the tenants, whose flags it
sets, and below the requests that wait for it.
"""
