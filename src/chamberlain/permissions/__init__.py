# SPDX-License-Identifier: Apache-2.0
"""The least-privilege report: held, used and needed permissions.

Uses are counted in the memory of a process and written in the background. No call waits for it.
"""
