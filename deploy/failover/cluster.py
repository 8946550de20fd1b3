# SPDX-License-Identifier: Apache-2.0
"""Two PostgreSQL nodes with synchronous replication under Patroni, and the etcd that Patroni agrees in."""

import json
import secrets
import signal
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from deploy.failover.programs import (
    POSTGRES,
    CannotTry,
    end,
    family,
    give_to_servers,
    send,
    servers_user,
    start,
    wait_until,
)
from tests.services import TLS, free_port

NAMES = ("one", "two")
SCOPE = "chamberlain"
# Patroni takes no shorter ttl. The leader renews it in each loop, so a dead leader is detected after 17 to 20 s.
# loop_wait + 2 * retry_timeout stay below it.
TTL, LOOP, RETRY = 20, 3, 5

# The configuration that an operator writes (docs/how-to/high-availability.md); JSON is YAML.
Document = dict[str, object]


@dataclass(slots=True)
class Node:
    """One PostgreSQL with its Patroni."""

    name: str
    folder: Path
    port: int
    rest_port: int
    patroni: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        """The data folder of PostgreSQL."""
        return self.folder / "data"

    def pids(self) -> list[int]:
        """Patroni, PostgreSQL and all of their processes."""
        postmaster = self._postmaster()
        return [
            *([] if self.patroni is None or self.patroni.poll() is not None else [self.patroni.pid]),
            *([] if postmaster is None else family(postmaster)),
        ]

    def kill(self) -> None:
        """End all of it as a power cut does."""
        send(self.pids(), signal.SIGKILL)
        if self.patroni is not None:
            self.patroni.wait()

    def freeze(self) -> None:
        """Let it answer nothing any more, while its connections stay open: as a machine that hangs."""
        send(self.pids(), signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        send(self.pids(), signal.SIGCONT)

    def _postmaster(self) -> int | None:
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
            program = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, IndexError, ProcessLookupError):
            return None
        # After a kill the file is still there, and the number may be another's by now.
        return pid if str(self.data).encode() in program else None


@dataclass(slots=True)
class Cluster:
    """The nodes; `synchronous` is whether a commit waits for the other node."""

    folder: Path
    started: ExitStack
    synchronous: bool = True
    password: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    nodes: list[Node] = field(default_factory=list)
    etcd_port: int = 0

    def start(self) -> None:
        """Bring it up: the first node leads, the second one follows."""
        self.etcd_port = free_port()
        self._start_etcd(self.etcd_port + 1)
        for name in NAMES:
            folder = self.folder / name
            folder.mkdir()
            give_to_servers(folder)
            port = free_port()
            node = Node(name, folder, port, port + 1)
            self.nodes.append(node)
            self.started.callback(self._end, node)
        for node in self.nodes:
            self.start_patroni(node)
            wait_until(lambda: self.leader() is not None, 120, "The first node leads")
        self.wait_until_safe()

    def start_patroni(self, node: Node) -> None:
        """Start Patroni, which starts PostgreSQL, or brings back what was killed."""
        configuration = node.folder / "patroni.json"
        configuration.write_text(json.dumps(self.configuration(node)))
        give_to_servers(configuration)
        configuration.chmod(0o600)
        command = ["patroni", str(configuration)]
        node.patroni = start(command, self.folder / f"{node.name}.log", user=servers_user())

    def configuration(self, node: Node) -> Document:
        """Build the Patroni configuration of a node."""
        users = ("postgres", "replicator", "rewinder")
        roles = dict(zip(("superuser", "replication", "rewind"), users, strict=True))
        return {
            "scope": SCOPE,
            "name": node.name,
            "restapi": {"listen": f"127.0.0.1:{node.rest_port}", "connect_address": f"127.0.0.1:{node.rest_port}"},
            "etcd3": {"hosts": [f"127.0.0.1:{self.etcd_port}"]},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL,
                    "loop_wait": LOOP,
                    "retry_timeout": RETRY,
                    "synchronous_mode": self.synchronous,
                    "postgresql": {
                        "use_pg_rewind": True,
                        "use_slots": True,
                        "parameters": {"max_connections": 200, "synchronous_commit": self._commits()},
                    },
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{node.port}",
                "connect_address": f"127.0.0.1:{node.port}",
                "data_dir": str(node.data),
                "bin_dir": str(POSTGRES),
                "pgpass": str(node.folder / "pgpass"),
                "authentication": {use: {"username": user, "password": self.password} for use, user in roles.items()},
                "parameters": {"unix_socket_directories": str(node.folder)},
                "pg_hba": [
                    "host replication replicator 127.0.0.1/32 scram-sha-256",
                    "host all all 127.0.0.1/32 scram-sha-256",
                ],
            },
        }

    def leader(self) -> Node | None:
        """Return the leader, if a node reports that it is primary."""
        return next((node for node in self.nodes if self._says(node, "primary")), None)

    def wait_until_safe(self) -> None:
        """Wait until one leads and the other one follows; with synchronous replication until commits wait for it."""
        path = "synchronous" if self.synchronous else "replica"
        wait_until(
            lambda: self.leader() is not None and any(self._says(node, path) for node in self.nodes),
            180,
            "One node leads and the other one follows",
        )

    def address(self, role: str, password: str, database: str) -> str:
        """Return one address with all nodes; the driver connects to the leader."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://{role}:{password}@{hosts}/{database}?target_session_attrs=primary"

    def _says(self, node: Node, path: str) -> bool:
        """Ask the Patroni of one node. Only a node reports its own role: it may be frozen or dead."""
        return answers(f"http://127.0.0.1:{node.rest_port}/{path}")

    def _start_etcd(self, peer_port: int) -> None:
        folder = self.folder / "etcd"
        folder.mkdir(mode=0o700)
        give_to_servers(folder)
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{peer_port}"
        command = [
            "etcd",
            *("--name", "only", "--data-dir", str(folder)),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"only={peer}"),
        ]
        etcd = start(command, self.folder / "etcd.log", user=servers_user())
        self.started.callback(end, etcd)
        wait_until(lambda: answers(f"{client}/health") or etcd.poll() is not None, 30, "etcd answers")
        if etcd.poll() is not None:
            raise CannotTry(f"etcd has ended: {(self.folder / 'etcd.log').read_text()[-2000:]}")

    def _commits(self) -> str:
        return "on" if self.synchronous else "off"

    def _end(self, node: Node) -> None:
        node.thaw()
        if node.patroni is not None:
            end(node.patroni)
        send(node.pids(), signal.SIGKILL)


def answers(url: str) -> bool:
    """Return whether the URL answers with 200."""
    try:
        return httpx2.get(url, timeout=2, verify=TLS, trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False
