# SPDX-License-Identifier: Apache-2.0
"""Rounds with a wrong clock in one process, for tests and for `python3 dev.py prove clocks`."""
