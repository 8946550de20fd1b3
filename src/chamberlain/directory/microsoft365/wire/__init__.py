# SPDX-License-Identifier: Apache-2.0
"""Requests to Microsoft Graph, with its errors as faults of the ports."""
