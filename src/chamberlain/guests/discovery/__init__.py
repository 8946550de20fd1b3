# SPDX-License-Identifier: Apache-2.0
"""Discovery of groups and sites, and of their deletion."""
