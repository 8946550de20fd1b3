# SPDX-License-Identifier: Apache-2.0
"""Mailboxes: request and read them, and create them in the directory."""
