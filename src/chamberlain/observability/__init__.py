# SPDX-License-Identifier: Apache-2.0
"""Logs and metrics of every process."""
