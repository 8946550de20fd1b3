# SPDX-License-Identifier: Apache-2.0
"""The client for synchronous programs, generated from `asynchronous` by `python3 dev.py client`.

Only this file is written by hand.
"""
