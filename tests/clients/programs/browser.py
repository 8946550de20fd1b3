# SPDX-License-Identifier: Apache-2.0
"""In place of a person's browser: says which address a library opens. `BROWSER` names it, as for any program."""

import json
import sys

print(json.dumps({"opened": sys.argv[1]}), flush=True)
