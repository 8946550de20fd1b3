# SPDX-License-Identifier: Apache-2.0
"""The pages, one file for each noun.

No page imports another.
"""
