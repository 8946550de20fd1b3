"""`python -m chamberlain` is the command `chamberlain`."""

from chamberlain.app.cli import main

main()
