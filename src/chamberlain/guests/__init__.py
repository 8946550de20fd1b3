# SPDX-License-Identifier: Apache-2.0
"""Guest rules of groups and sites: subjects, discovery, assignments, policies and findings."""
