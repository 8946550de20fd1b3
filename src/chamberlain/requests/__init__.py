# SPDX-License-Identifier: Apache-2.0
"""Requests of every kind: list, read, watch and act on them.

Visibility and waiting for results belong here too. Nothing here knows what a request asks for.
"""
