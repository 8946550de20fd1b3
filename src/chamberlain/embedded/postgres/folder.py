"""The folder of the embedded PostgreSQL: what lies where, who owns it, and who holds it.

    lock            held by the service that uses the folder
    data/           PostgreSQL's data, closed to all but the server's user; the socket and the logs lie in it
    programs/       copies, where the server's user cannot reach the originals
    *.conf          written anew at each start
    start.log       what the server said before it opened its own log

All but data/ belongs to whoever runs the service: root never writes in a folder that another user could have prepared.
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

# sockaddr_un.sun_path holds 108 bytes on Linux and 104 on macOS and the BSDs, the closing zero included.
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
    folder = Folder(path.absolute())
    if len(bytes(folder.socket)) > SOCKET_PATH_LIMIT:
        raise SocketPathTooLong(folder.socket, SOCKET_PATH_LIMIT)
    if "," in str(folder.path) or "\n" in str(folder.path):
        raise FolderNotUsable(folder.path, "addresses of databases have no room for a comma or a new line")
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderNotUsable(folder.path, str(error.strerror)) from error
    owner = folder.path.stat().st_uid
    if os.geteuid() not in {owner, 0}:
        raise FolderNotUsable(folder.path, f"it belongs to the user with the number {owner}")
    return folder


def open_to(folder: Folder, user: ServerUser) -> None:
    """Let the server's user pass through the folder itself. The folders above it are the administrator's to open."""
    folder.path.chmod(0o711 if user.is_other else 0o700)
    if not can_enter(user, folder.path):
        raise FolderOutOfReach(folder.path, user.name)
    if folder.data.exists():
        _hand_over(folder.data, user)


def hold(folder: Folder) -> int:
    """Take the folder for this process until the answered file descriptor is closed, or the process ends."""
    lock = os.open(folder.path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(lock, 20).decode()
        os.close(lock)
        raise AlreadyRunning(folder.path, holder) from error
    # Whoever needs room meets a full disk soon enough, and has a sentence for it; the number is for the message above.
    with suppress(OSError):
        os.truncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
    return lock


def new_data_folder(folder: Folder, user: ServerUser) -> Path:
    """Make an empty folder for new data, in place of one that an interrupted first start may have left."""
    shutil.rmtree(folder.unfinished_data, ignore_errors=True)
    folder.unfinished_data.mkdir(mode=0o700)
    os.chown(folder.unfinished_data, user.user_id, user.group_id)
    return folder.unfinished_data


def put_in_place(folder: Folder) -> None:
    """Let the data be found by the next start, even if the power fails now."""
    folder.unfinished_data.rename(folder.data)
    directory = os.open(folder.path, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def _hand_over(data: Path, user: ServerUser) -> None:
    """Give the data to the server's user, if it ran as another one before. Links are never followed."""
    if not user.is_other or data.stat().st_uid == user.user_id:
        return
    for _, folders, files, at in os.fwalk(data):
        for name in folders + files:
            os.chown(name, user.user_id, user.group_id, dir_fd=at, follow_symlinks=False)
    # Last, so that an interrupted walk is begun anew.
    os.chown(data, user.user_id, user.group_id)
