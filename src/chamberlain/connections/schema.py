# SPDX-License-Identifier: Apache-2.0
"""Parts of connections in bodies and configuration files."""

from typing import Annotated

from chamberlain.core.fields import line, shaped

Address = Annotated[str, line(1024, 1)]
FileName = Annotated[
    str,
    shaped(
        r"[A-Za-z0-9_-][A-Za-z0-9._-]*",
        "must be the name of a file, of letters, digits, dots, hyphens and underscores, and may not begin with a dot",
        128,
    ),
]
