# SPDX-License-Identifier: Apache-2.0
"""The Sieve script of an automatic reply (RFC 5228, RFC 5230). Pure.

Users of a mailbox may have scripts of their own. This one has a name of its own, so it replaces none of them.
"""

import re
from collections.abc import Iterable
from typing import Final

SCRIPT_NAME: Final = "chamberlain"
# Each sender gets one reply a day.
_DAYS: Final = 1
_SUBJECT: Final = "Automatic reply"
_BLOCK: Final = re.compile(r"\bvacation\b.*?text:[ \t]*\r?\n(?P<text>.*?)\r?\n?^\.\r?$", re.DOTALL | re.MULTILINE)


def render_reply(text: str, addresses: Iterable[str]) -> str:
    """Render the script that replies to mail for these addresses."""
    quoted = ", ".join(f'"{_quote(each)}"' for each in addresses)
    # Lines of a multi-line string that begin with a dot get another one (RFC 5228, 2.4.2).
    stuffed = re.sub(r"^\.", "..", text, flags=re.MULTILINE)
    return (
        'require ["vacation"];\n'
        f'vacation :days {_DAYS} :addresses [{quoted}] :subject "{_SUBJECT}" text:\n'
        f"{stuffed}\n.\n;\n"
    )


def parse_reply(script: str) -> str | None:
    """Return the text of a reply.

    None for a script of another form.
    """
    found = _BLOCK.search(script)
    return None if found is None else re.sub(r"^\.\.", ".", found["text"], flags=re.MULTILINE)


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
