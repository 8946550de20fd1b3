# SPDX-License-Identifier: Apache-2.0
"""Running services, whose databases lie on a disk: what is kept in memory would have every commit for nothing.

The disk is that of the folder for temporary files, which TMPDIR names.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.services import Service, start_service


@contextmanager
def folder_on_disk() -> Iterator[Path]:
    """A data folder with a short path, since a socket will be in it; the server's user can pass it."""
    with tempfile.TemporaryDirectory(prefix="ch-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


@contextmanager
def running_service(*, options: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Iterator[Service]:
    """A service with the example estate and an embedded database, for as long as the block runs."""
    with running_services(options, environment=environment) as (service,):
        yield service


@contextmanager
def running_services(
    *options: Sequence[str], environment: Mapping[str, str] | None = None
) -> Iterator[Sequence[Service]]:
    """As many as there are sets of options, started beside each other; who is not measured is idle."""
    with ExitStack() as stack:
        services = []
        for each in options:
            service = start_service(stack.enter_context(folder_on_disk()), options=each, environment=environment)
            stack.callback(service.stop)
            services.append(service)
        for service in services:
            service.wait_until_ready()
        yield services


def file_system_of(folder: Path) -> str:
    """The kind of file system that a folder is on, such as ext4, or tmpfs for one in memory."""
    found = ("", "unknown")
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        place, kind = line.split()[1:3]
        if folder.resolve().is_relative_to(place) and len(place) >= len(found[0]):
            found = (place, kind)
    return found[1]


def place_of_data() -> str:
    """Where the databases of a measurement are."""
    return f"{file_system_of(Path(tempfile.gettempdir()))}{' (TMPDIR)' if 'TMPDIR' in os.environ else ''}"
