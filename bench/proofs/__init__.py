# SPDX-License-Identifier: Apache-2.0
"""Proofs whose full counts take longer than a test may: one module for each, run by `python3 dev.py prove NAME`.

A module has the name of its proof, prints its figures and ends with 0 only when they are as promised. `results/` has
the output of the last full run, with its command, date and commit. The same code runs with small counts in the tests.
"""
