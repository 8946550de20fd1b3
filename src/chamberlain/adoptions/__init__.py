# SPDX-License-Identifier: Apache-2.0
"""Adoptions: manage mailboxes and groups that existed in the directory before.

The service previews and confirms adoptions, and the job runs and undoes them.
"""
