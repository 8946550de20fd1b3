# SPDX-License-Identifier: Apache-2.0
"""Notifications by e-mail: recipients, texts, sending job and mail server."""
