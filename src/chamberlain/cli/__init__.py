"""The command line: what an operator or a script says in words, handed to the service or to the running one over HTTP.

Commands read the settings, print, and choose the exit code. What a command does lives elsewhere: in bootstrap and the
use cases, or behind the API.
"""

from chamberlain.cli.commands import main

__all__ = ["main"]
