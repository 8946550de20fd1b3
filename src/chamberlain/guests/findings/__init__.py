# SPDX-License-Identifier: Apache-2.0
"""Findings: list, accept, confirm and reopen them.

Policies, assignments and the drift check write findings. Their detection does not belong here.
"""
