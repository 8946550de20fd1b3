# SPDX-License-Identifier: Apache-2.0
"""Import assignments of groups and sites from a CSV file.

Runs on the machine of the user and calls the API.
"""
