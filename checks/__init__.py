# SPDX-License-Identifier: Apache-2.0
"""Checks of our own, run by `python3 dev.py check`: English, commit messages and licences.

A check needs only the standard library and reads only this repository. No product code lives here.
"""
