# SPDX-License-Identifier: Apache-2.0
"""Parts of a release, made by `python3 dev.py build`.

This package reads the tree and the environment of the service. No product code lives here.
"""
