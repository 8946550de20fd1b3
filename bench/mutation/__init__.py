# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: makes small changes of the source, one at a time, and runs the tests that execute the changed line.

`bench/proofs/mutation.py` is the command. docs/decisions has the reasons for own code in place of a library.
"""
