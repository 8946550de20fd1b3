# SPDX-License-Identifier: Apache-2.0
"""Groups and sites of the directory: records, lists and import.

Their discovery, assignments and findings do not belong here.
"""
