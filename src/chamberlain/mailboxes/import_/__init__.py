# SPDX-License-Identifier: Apache-2.0
"""Import mailboxes from a CSV file: the columns and the sender.

Runs on the machine of the user and calls the API.
"""
