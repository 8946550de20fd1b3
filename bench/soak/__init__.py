# SPDX-License-Identifier: Apache-2.0
"""The long measurement: does anything grow? It is a folder, so that `dev.py bench` runs it only when it is named.

Here lives what only this one needs: what it asks for, what it looks at each minute, and when something counts as grown.
"""
