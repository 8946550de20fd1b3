# SPDX-License-Identifier: Apache-2.0
"""Import rows of a CSV file: read, send, checkpoint and report.

Runs on the machine of the user and calls the API. Each noun adds its columns and its sender.
"""
