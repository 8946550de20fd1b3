# SPDX-License-Identifier: Apache-2.0
"""Commands that open the database instead of calling the API."""
