# SPDX-License-Identifier: Apache-2.0
"""Test high availability: kill the primary of a Patroni cluster under load.

It uses only the commands of the service, as an operator does.
"""
