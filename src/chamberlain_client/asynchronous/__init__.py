# SPDX-License-Identifier: Apache-2.0
"""The client for asynchronous programs. `python3 dev.py client` generates its synchronous twin.

Calls and responses are built and decoded in the pure modules one folder up, which both clients share.
"""
