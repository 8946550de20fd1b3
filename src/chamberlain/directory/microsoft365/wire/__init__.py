# SPDX-License-Identifier: Apache-2.0
"""Sends requests to Microsoft Graph, and turns its errors into faults of the ports."""
