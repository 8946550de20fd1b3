# SPDX-License-Identifier: Apache-2.0
"""Measure the cost of the writes alone.

It is a folder, so that `dev.py bench` runs it only when it is named.
"""
