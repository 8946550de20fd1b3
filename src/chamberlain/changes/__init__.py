# SPDX-License-Identifier: Apache-2.0
"""Record changes: the audit row and the event, in one transaction.

`audit` and `events` read them.
"""
