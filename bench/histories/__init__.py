# SPDX-License-Identifier: Apache-2.0
"""Histories of calls that clients made while faults happened, and the checker that judges them.

`records.py` has the values. `checker.py` is a pure function over a history and the state that the API shows at the end.
`clients.py` makes the calls, `faults.py` the faults, `rounds.py` one round of both.
"""
