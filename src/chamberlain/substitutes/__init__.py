# SPDX-License-Identifier: Apache-2.0
"""Substitutes of approvers.

An approver names one user who decides instead, for at most 60 days. The levels of requests are below `requests`, which
reads the current substitutes.
"""
