"""Who is at the command line, as records name them."""

import os
import pwd

from chamberlain.auth.models import Actor, ActorType


def command_line() -> Actor:
    """Whoever runs this process, by the name that the operating system has for them; by number where it has none."""
    number = os.getuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        name = str(number)
    return Actor(ActorType.SYSTEM, None, f"Command line ({name})")
