# SPDX-License-Identifier: Apache-2.0
"""Measurements of the code itself: its public interface, its size, and the English of its comments."""
