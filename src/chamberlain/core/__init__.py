# SPDX-License-Identifier: Apache-2.0
"""Values and functions without I/O.

Ids, errors, JSON, time, text, pagination and validation. Imports nothing else of the service.
"""
