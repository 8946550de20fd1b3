# SPDX-License-Identifier: Apache-2.0
"""The framework of the command line.

It has options, output, errors, sign-in and calls of the API. The commands of a noun are in its `cli.py`. Commands that
open the database are in `app/commands/`.
"""
