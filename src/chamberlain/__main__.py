# SPDX-License-Identifier: Apache-2.0
"""`python -m chamberlain` is the command `chamberlain`."""

from chamberlain.app.cli import main

main()
