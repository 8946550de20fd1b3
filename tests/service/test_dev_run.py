# SPDX-License-Identifier: Apache-2.0
"""The one command that a newcomer types."""

import subprocess
import sys

import dev
from tests.folders import data_folder
from tests.services import GROUP_TEMPLATE, Service, free_port


def test_it_works_and_does_so_again_after_a_power_cut() -> None:
    with data_folder() as folder:
        port, log = free_port(), folder / "log"
        command = [sys.executable, dev.__file__, "run", "--port", str(port), "--data-dir", str(folder)]
        request_id = ""
        for _ in range(2):
            with log.open("ab") as stream:
                process = subprocess.Popen(command, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL)
            service = Service(process, log, port, folder, {})
            try:
                service.wait_until_ready(within=20)

                # The second time, the first one's group is there.
                assert not request_id or service.wait_for_group(request_id, within=15)
                answer = service.post_group({"displayName": "First of all", "templateId": GROUP_TEMPLATE})
                request_id = answer.json()["requestId"]
                assert service.wait_for_group(request_id)
            finally:
                service.kill()
