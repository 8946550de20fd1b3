# SPDX-License-Identifier: Apache-2.0
"""The script of examples/shell: it ends with the exit code of the command that fails."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT
from tests.services import free_port


def test_it_ends_with_the_exit_code_and_the_error_of_the_command(tmp_path: Path) -> None:
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "CHAMBERLAIN_CONFIG_DIR": str(tmp_path),
        "CHAMBERLAIN_SERVER": f"http://127.0.0.1:{free_port()}",
        "CHAMBERLAIN_TOKEN": "any",
    }

    done = subprocess.run(
        [ROOT / "examples" / "shell" / "request-groups", "Pilot North"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 6
    assert environment["CHAMBERLAIN_SERVER"] in done.stderr
    assert "Traceback" not in done.stderr
