# SPDX-License-Identifier: Apache-2.0
"""The feed of events, and the outbox of webhooks.

Events are written by `changes`.
"""
