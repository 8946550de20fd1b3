# SPDX-License-Identifier: Apache-2.0
"""Checks of an installation for its operator. Nothing here writes."""
