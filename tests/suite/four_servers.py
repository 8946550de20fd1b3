# SPDX-License-Identifier: Apache-2.0
"""Servers as a reader of a page has them: each a root, a network and processes of its own, and Debian's init scripts.

Everything is in namespaces, and ends with the process that has created them: nothing of the machine changes. Run it in
namespaces of its own: `unshare --net --mount --pid --fork --kill-child --mount-proc python3 -m ...`.
"""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT
from tests.services import wait_until

SERVERS: Final = (1, 2, 3, 4)
# The host of the service, which is the process itself.
SERVICE_ADDRESS: Final = "10.20.0.5"
BRIDGE: Final = "servers"
# The clone of the reader, on every server.
CLONE: Final = "/root/chamberlain"
_WITHIN: Final = 120.0
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Mounts the machine's own root below a folder that takes all changes, and keeps the namespaces. Bash collects the
# ended processes, as init does.
_BOOT: Final = """
set -e
cd "$1"
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
for each in /dev "$2"; do mkdir -p "root$each"; mount --rbind "$each" "root$each"; done
mount -t proc proc root/proc
for each in run tmp; do mount -t tmpfs tmpfs root/$each; done
chmod 1777 root/tmp
mkdir -p root/run/lock
hostname "$3"
ip link set lo up
touch booted
exec chroot root bash -c 'sleep infinity & wait'
"""

# The packages are on the machine. Its installation has no cluster of PostgreSQL, which the package creates otherwise.
_APT_GET: Final = """#!/bin/sh
case "$*" in *postgresql*) [ -e /etc/postgresql/15/main ] || pg_createcluster 15 main ;; esac
"""

# Debian's init scripts in place of systemd, and the command of a unit that has none.
_SYSTEMCTL: Final = """#!/bin/bash
[ "$1" != daemon-reload ] || exit 0
unit=${!#}
[ ! -x /etc/init.d/$unit ] || exec /etc/init.d/$unit restart
file=/etc/systemd/system/$unit.service
user=$(sed -n s/^User=//p $file)
if [ -e /run/$unit.pid ]; then
    kill $(cat /run/$unit.pid)
    tail --pid=$(cat /run/$unit.pid) -f /dev/null
fi
setsid runuser -u $user -- $(sed -n s/^ExecStart=//p $file) </dev/null >/dev/null 2>&1 &
echo $! >/run/$unit.pid
"""


@dataclass(slots=True)
class Server:
    """A server that runs until the end of its process."""

    pid: int
    folder: Path

    def run(self, *blocks: str) -> str:
        """Run blocks of commands as root in the clone, in one shell, and return their output."""
        return shell(blocks, before=("nsenter", f"--target={self.pid}", "--all", "--root", f"--wdns={CLONE}"))

    def give(self, file: Path) -> None:
        """Copy a file into the clone."""
        self.run(f"install -m 0600 {file} {CLONE}/")


def boot(number: int, folder: Path, stack: ExitStack) -> Server:
    """Start a server with the address 10.20.0.NUMBER, which ends with the stack."""
    programs = folder / "upper" / "usr" / "local" / "sbin"
    for each in (programs, folder / "work", folder / "root"):
        each.mkdir(parents=True)
    for name, script in (("apt-get", _APT_GET), ("systemctl", _SYSTEMCTL)):
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    namespaces = ("unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child")
    process = stack.enter_context(
        subprocess.Popen([*namespaces, "bash", "-c", _BOOT, "boot", folder, ROOT, f"server-{number}"])
    )
    stack.callback(process.kill)
    wait_until(lambda: (folder / "booted").exists() or process.poll() is not None, _WITHIN)
    [pid] = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    wait_until(lambda: Path(f"/proc/{pid}/root").readlink() == folder / "root", _WITHIN)
    server = Server(pid, folder)
    name = f"server-{number}"
    execute(
        f"ip link add {name} type veth peer name eth0 netns {pid}",
        f"ip link set {name} master {BRIDGE} up",
        f"nsenter --target={pid} --net ip address add 10.20.0.{number}/24 dev eth0",
        f"nsenter --target={pid} --net ip link set eth0 up",
    )
    # The home of root has the clone.
    shell(
        [f"mkdir -p {CLONE}", *(f"ln -s {ROOT}/{name} {CLONE}/" for name in ("deploy", "requirements-synapse.lock"))],
        before=("nsenter", f"--target={pid}", "--all", "--root", "--wdns=/"),
    )
    return server


def make_network() -> None:
    """Create the private network, with the address of the service on it."""
    execute(
        "ip link set lo up",
        f"ip link add {BRIDGE} type bridge",
        f"ip address add {SERVICE_ADDRESS}/24 dev {BRIDGE}",
        f"ip link set {BRIDGE} up",
    )


def make_writable(folder: Path, *targets: str) -> None:
    """Let this process change folders of the machine, without effect on the machine."""
    for target in targets:
        changes = folder / target.strip("/").replace("/", "-")
        for each in ("upper", "work"):
            (changes / each).mkdir(parents=True)
        options = f"lowerdir={target},upperdir={changes}/upper,workdir={changes}/work"
        execute(f"mount -t overlay overlay -o {options} {target}")


def execute(*commands: str) -> None:
    """Run commands that have to succeed."""
    for command in commands:
        subprocess.run(command.split(), check=True)


def shell(blocks: Sequence[str], *, before: Sequence[str] = (), more: Mapping[str, str] | None = None) -> str:
    """Run blocks of commands in one shell, and return their output. `before` are words in front of it."""
    # Not a pipe: servers keep it open.
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            [*before, "bash", "-c", "set -euo pipefail\n" + "\n".join(blocks)],
            env={"PATH": _PATH, "HOME": "/root", **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=_WITHIN,
        )
        output.seek(0)
        said = output.read()
    assert done.returncode == 0, f"{blocks}\n{said}"
    return said
