# SPDX-License-Identifier: Apache-2.0
"""The folder of the embedded PostgreSQL: its layout, permissions and lock.

    lock            locked by the service that uses the folder
    data/           PostgreSQL's data, the socket and the logs; private to the server's user
    programs/       copies, if the server's user cannot reach the originals
    *.conf          rewritten at each start
    start.log       output of the server before it opens its own log

The user who runs the service owns all but data/: root never writes in a folder that another user controls.
"""

import fcntl
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chamberlain.embedded.postgres.errors import AlreadyRunning, FolderNotUsable, FolderOutOfReach, SocketPathTooLong
from chamberlain.embedded.postgres.roles import SOCKET_NAME
from chamberlain.embedded.postgres.server_user import ServerUser, can_enter

# sockaddr_un.sun_path has 108 bytes on Linux and 104 on macOS and the BSDs, including the final zero.
SOCKET_PATH_LIMIT = 103


@dataclass(frozen=True, slots=True)
class Folder:
    path: Path

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def unfinished_data(self) -> Path:
        return self.path / "data.unfinished"

    @property
    def socket(self) -> Path:
        return self.data / SOCKET_NAME

    @property
    def programs(self) -> Path:
        return self.path / "programs"

    @property
    def start_log(self) -> Path:
        return self.path / "start.log"


def make_folder(path: Path) -> Folder:
    """Create the folder and validate its path and owner."""
    folder = Folder(path.absolute())
    if len(bytes(folder.socket)) > SOCKET_PATH_LIMIT:
        raise SocketPathTooLong(folder.socket, SOCKET_PATH_LIMIT)
    if "," in str(folder.path) or "\n" in str(folder.path):
        raise FolderNotUsable(folder.path, "database addresses have no room for a comma or a newline")
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderNotUsable(folder.path, str(error.strerror)) from error
    owner = folder.path.stat().st_uid
    if os.geteuid() not in {owner, 0}:
        raise FolderNotUsable(folder.path, f"it belongs to the user with the number {owner}")
    return folder


def open_to(folder: Folder, user: ServerUser) -> None:
    """Let the server's user enter the folder.

    The administrator must open the folders above it.
    """
    folder.path.chmod(0o711 if user.is_other else 0o700)
    if not can_enter(user, folder.path):
        raise FolderOutOfReach(folder.path, user.name)
    if folder.data.exists():
        _hand_over(folder.data, user)


def hold(folder: Folder) -> int:
    """Lock the folder until the returned file descriptor is closed."""
    lock = os.open(folder.path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(lock, 20).decode()
        os.close(lock)
        raise AlreadyRunning(folder.path, holder) from error
    # The process id is only for the message above. A full disk is reported later.
    with suppress(OSError):
        os.truncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
    return lock


def new_data_folder(folder: Folder, user: ServerUser) -> Path:
    """Create an empty folder for new data.

    Replaces one of an aborted first start.
    """
    shutil.rmtree(folder.unfinished_data, ignore_errors=True)
    folder.unfinished_data.mkdir(mode=0o700)
    os.chown(folder.unfinished_data, user.user_id, user.group_id)
    return folder.unfinished_data


def put_in_place(folder: Folder) -> None:
    """Rename the new data to its final name, durably."""
    folder.unfinished_data.rename(folder.data)
    directory = os.open(folder.path, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def _hand_over(data: Path, user: ServerUser) -> None:
    """Give the data to the server's user, without following links."""
    if not user.is_other or data.stat().st_uid == user.user_id:
        return
    for _, folders, files, at in os.fwalk(data):
        for name in folders + files:
            os.chown(name, user.user_id, user.group_id, dir_fd=at, follow_symlinks=False)
    # Last, so that an aborted change is repeated.
    os.chown(data, user.user_id, user.group_id)
