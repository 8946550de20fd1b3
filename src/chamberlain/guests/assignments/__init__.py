# SPDX-License-Identifier: Apache-2.0
"""Assignments: guest templates and policies of groups and sites.

Their effects in the directory belong here too. Policies are evaluated elsewhere.
"""
