"""What the exit code of a command says, for scripts; docs/reference/commands.md has the same table."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command has ended."""

    DONE = 0
    FAILED = 1
    MISUSED = 2
    NOT_ALLOWED = 3
    NOT_THERE = 4
    NOT_FINISHED = 5
    UNREACHABLE = 6
    # As sysexits.h has it: the configuration is wrong.
    SETTINGS = 78
    # As a shell has it: 128 and the number of SIGINT.
    INTERRUPTED = 130
