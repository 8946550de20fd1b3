# SPDX-License-Identifier: Apache-2.0
"""Webhooks: deliveries, calls of receivers, and administration."""
