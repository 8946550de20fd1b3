"""Changes: the audit row and the event of a change, recorded in one transaction.

Reading the audit trail and the feed of events is part of `audit` and `events`.
"""
