# SPDX-License-Identifier: Apache-2.0
"""Authentication and authorization: bearer tokens, issuers, principals and permissions."""
