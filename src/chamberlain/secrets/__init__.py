# SPDX-License-Identifier: Apache-2.0
"""The keys file, and the key ring that encrypts secrets."""
