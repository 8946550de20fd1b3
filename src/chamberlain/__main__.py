"""`python -m chamberlain` is the command `chamberlain`."""

from chamberlain.cli import main

main()
