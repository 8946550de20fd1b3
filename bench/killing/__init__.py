# SPDX-License-Identifier: Apache-2.0
"""Kill processes under load and check everything that was acknowledged.

This package has the victims and their inspection. bench/kills.py chooses them, the number of kills and the limits.
"""
