# SPDX-License-Identifier: Apache-2.0
"""Drift: compare the directory with the desired state, and repair it.

`compare` compares objects with their observation. `rules` decides which drift is repaired, and `repair` calls the
directory.
"""
