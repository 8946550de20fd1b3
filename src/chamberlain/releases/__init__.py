# SPDX-License-Identifier: Apache-2.0
"""Releases: give managed objects back to the directory.

Their marks and records are removed. The objects and their settings in the directory stay.
"""
