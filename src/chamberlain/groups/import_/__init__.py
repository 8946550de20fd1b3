# SPDX-License-Identifier: Apache-2.0
"""Import groups and teams with their members from a CSV file.

Runs on the machine of the user and calls the API.
"""
