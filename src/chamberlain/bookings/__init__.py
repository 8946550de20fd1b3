# SPDX-License-Identifier: Apache-2.0
"""Answers of rooms and equipment to invitations by mail (iMIP, RFC 6047).

The job of a tenant reads the mail of its resources, books in their calendars (CalDAV), and replies by mail. Invitations
over CalDAV are answered by the calendar server itself. `calendar_text` alone uses icalendar, of the extra `opensuite`.
No other package of the service imports this one, except the wiring.
"""
