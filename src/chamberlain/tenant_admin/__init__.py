# SPDX-License-Identifier: Apache-2.0
"""Administration of tenants by operators: list, suspend, resume, export and delete them."""
