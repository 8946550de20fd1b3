# SPDX-License-Identifier: Apache-2.0
"""A file system of its own in a file, whose power can be cut. Needs root and a loop device.

The cut shuts the file system down without flushing its journal: all that was not written to its device is lost, data
and metadata alike. The next mount replays the journal, as after a real cut. The device itself keeps every write that
it was given: a disk that lies about its own cache is not simulated.

A flush that is under way at the shutdown can succeed although its data is lost. With Linux 6.18, a program of 40 lines
that only writes and calls fdatasync saw that in 5 of 60 cuts. Nothing may be acknowledged after the cut, therefore.
"""

import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.services import wait_until

# _IOR('X', 125, __u32) and EXT4_GOING_FLAGS_NOLOGFLUSH of linux/ext4.h.
_SHUTDOWN = 0x8004587D
_WITHOUT_FLUSH = 2
# Processes that were killed let go of their files.
_FREE_WITHIN = 30.0


@dataclass(frozen=True, slots=True)
class LoopDisk:
    """An ext4 in `image`, mounted at `place`."""

    image: Path
    place: Path

    def cut_power(self) -> None:
        """Lose everything that is not on the device. From now on every new write and flush fails."""
        folder = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN, struct.pack("I", _WITHOUT_FLUSH))
        finally:
            os.close(folder)

    def mount(self) -> None:
        """Mount it, which replays the journal after a cut.

        Each time on another device: a container that started before the cut still has the old one mounted.
        """
        found = subprocess.run(
            ["losetup", "--find", "--show", self.image], check=True, stdout=subprocess.PIPE, text=True
        )
        device = found.stdout.strip()
        subprocess.run(["mount", device, self.place], check=True)
        # It stays until it is unmounted.
        subprocess.run(["losetup", "--detach", device], check=True)

    def unmount(self) -> None:
        """Unmount it as soon as no process uses it."""
        wait_until(self._is_unmounted, _FREE_WITHIN, lambda: f"Processes that use it: {self.users()}")

    def users(self) -> list[int]:
        """List the processes that use files on it."""
        return [process for process in _processes() if _uses(process, self.place)]

    def _is_unmounted(self) -> bool:
        return subprocess.run(["umount", self.place], check=False, stderr=subprocess.DEVNULL).returncode == 0


def _processes() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def _uses(process: int, place: Path) -> bool:
    proc = Path(f"/proc/{process}")
    try:
        links = [proc / "cwd", *(proc / "fd").iterdir()]
        return any(link.readlink().is_relative_to(place) for link in links)
    except OSError:
        # It has ended, or has closed a file meanwhile.
        return False


@contextmanager
def loop_disk(folder: Path, megabytes: int) -> Iterator[LoopDisk]:
    """Make and mount a file system of this size in the folder, for as long as the block runs."""
    disk = LoopDisk(folder / "disk.ext4", folder / "d")
    with disk.image.open("xb") as image:
        image.truncate(megabytes << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", disk.image], check=True)
    disk.place.mkdir()
    disk.mount()
    # The server's user passes through, as in every data folder.
    disk.place.chmod(0o711)
    try:
        yield disk
    finally:
        # Whatever is left of a block that failed must not keep the device.
        subprocess.run(["umount", "--lazy", disk.place], check=False, stderr=subprocess.DEVNULL)
