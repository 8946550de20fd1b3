# SPDX-License-Identifier: Apache-2.0
"""Start each server of a suite from the configuration beside this file."""

import base64
import secrets
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from deploy.suite.folder import HOST, CannotStart, Suite
from deploy.suite.packages import POSTGRES, SERVERS, server_problem
from deploy.suite.people import people_ldif
from deploy.suite.plist import command_line
from deploy.suite.processes import (
    ids_of,
    is_root,
    is_running,
    launch,
    listens,
    note,
    run,
    spawn,
    wait_for_port,
    wait_until,
)

PARTS: Final = (*SERVERS, "synapse")
HERE: Final = Path(__file__).resolve().parent
# The system users of the packages.
_SLAPD, _POSTGRES, _SOGO, _MEMCACHED = "openldap", "postgres", "sogo", "nobody"
# The ports that each server listens at.
_PORTS: Final = {
    "slapd": ("LDAP",),
    "dovecot": ("DOVEADM", "IMAP", "LMTP"),
    "postfix": ("SMTP", "SUBMISSION"),
    "postgresql": ("DATABASE",),
    "memcached": ("MEMCACHED",),
    "sogo": ("SOGO",),
    "web": ("WEB",),
    "synapse": ("MATRIX",),
}
# In place of Debian's nginx.conf, which includes all files of its folder conf.d.
_NGINX: Final = """
daemon off;
user www-data;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    include /etc/nginx/mime.types;
    access_log off;
    include {folder}/sogo.conf;
}}
"""


@dataclass(frozen=True, slots=True)
class Starter:
    """Starts the servers of a suite. `python` is that of the environment with Synapse."""

    suite: Suite
    python: Path

    def start(self, parts: tuple[str, ...]) -> None:
        """Start servers that do not run yet; those that need no other one at the same time."""
        wanted = [part for part in parts if not is_running(self.suite, part)]
        self._require(wanted)
        for part in ("slapd", "dovecot", "postfix", "sogo", "web", "synapse", "postgresql"):
            if part in wanted:
                self._fill(part)
        # SOGo and Synapse open their databases when they start.
        later = [part for part in wanted if part in {"sogo", "synapse"}]
        with ThreadPoolExecutor(max_workers=8) as pool:
            first = {part: pool.submit(self.one, part) for part in wanted if part not in later}
            if "postgresql" in first:
                first["postgresql"].result()
            second = [pool.submit(self.one, part) for part in later]
            for each in (*first.values(), *second):
                each.result()

    def one(self, part: str) -> None:
        """Start one server with the configuration that is there, and wait until it listens."""
        starts = {
            "slapd": self._slapd,
            "dovecot": self._dovecot,
            "postfix": self._postfix,
            "postgresql": self._postgresql,
            "memcached": self._memcached,
            "sogo": self._sogo,
            "web": self._web,
            "synapse": self._synapse,
        }
        starts[part]()

    def _require(self, parts: list[str]) -> None:
        if problem := server_problem(parts):
            raise CannotStart(problem)
        for port in (self.suite.port(name) for part in parts for name in _PORTS[part]):
            if listens(port):
                raise CannotStart(
                    f"Another program listens at port {port}. End it, or remove the suite in {self.suite.folder}: the "
                    "next one has other ports."
                )
        if "synapse" in parts and not self.python.exists():
            raise CannotStart(f"{self.python} does not exist. Start the suite by python3 dev.py suite start")

    def _fill(self, part: str) -> None:
        sources = {"web": "nginx"}
        targets = {"postfix": "postfix/etc", "postgresql": "postgresql/sql", "web": "nginx"}
        groups = {"slapd": _SLAPD, "postfix": "postfix", "sogo": _SOGO}
        target = self.suite.folder / targets.get(part, part)
        group = [str(ids_of(groups[part])[1])] if part in groups and is_root() else []
        run(HERE / "fill", self.suite.settings, HERE / sources.get(part, part), target, *group)

    def _slapd(self) -> None:
        etc = self.suite.folder / "slapd"
        # Written last, so that an interrupted first start begins again.
        loaded = etc / "loaded"
        if not loaded.exists():
            shutil.rmtree(etc / "data", ignore_errors=True)
        for name in ("data", "data/main", "data/accesslog", "run"):
            self._folder(etc / name, _SLAPD)
        conf = etc / "slapd.conf"
        if not loaded.exists():
            entries = (etc / "entries.ldif").read_text(encoding="utf-8")
            entries += "\n" + people_ldif(self.suite.base)
            run("/usr/sbin/slapadd", "-q", "-f", conf, "-b", self.suite.base, user=_SLAPD, input_=entries)
            loaded.touch()
        # A log level keeps it in the foreground.
        command = ("/usr/sbin/slapd", "-d", "0", "-f", conf, "-h", self.suite.values["LDAP_LISTEN"])
        spawn(self.suite, "slapd", *command, user=_SLAPD)
        wait_for_port(self.suite, "slapd", self.suite.port("LDAP"))

    def _dovecot(self) -> None:
        etc, mail = self.suite.folder / "dovecot", self.suite.folder / "mail"
        mail.mkdir(mode=0o700, exist_ok=True)
        shutil.chown(mail, int(self.suite.values["MAIL_UID"]), int(self.suite.values["MAIL_GID"]))
        # Another process may have the id in it after a restart of the machine. Dovecot would not start then.
        (etc / "run" / "master.pid").unlink(missing_ok=True)
        spawn(self.suite, "dovecot", "/usr/sbin/dovecot", "-F", "-c", etc / "dovecot.conf")
        for name in _PORTS["dovecot"]:
            wait_for_port(self.suite, "dovecot", self.suite.port(name))

    def _postfix(self) -> None:
        folder = self.suite.folder / "postfix"
        for name in ("spool", "data"):
            (folder / name).mkdir(mode=0o755, exist_ok=True)
        shutil.chown(folder / "data", "postfix")
        # Postfix forks by itself, and keeps the id of its first process.
        launch(self.suite, "postfix-start", "/usr/sbin/postfix", "-c", folder / "etc", "start")
        file = folder / "spool" / "pid" / "master.pid"
        # After a kill the file has the id of the process before.
        wait_until(lambda: _has_process(file), lambda: True, "postfix has no master process", self.suite.log("postfix"))
        note(self.suite, "postfix", int(file.read_text()))
        wait_for_port(self.suite, "postfix", self.suite.port("SUBMISSION"))

    def _postgresql(self) -> None:
        folder, port = self.suite.folder / "postgresql", str(self.suite.port("DATABASE"))
        data, loaded = folder / "data", folder / "loaded"
        if not loaded.exists():
            shutil.rmtree(data, ignore_errors=True)
            self._folder(data, _POSTGRES)
            cluster = ("-E", "UTF8", "--locale=C", "--no-sync", "--auth-local=trust", "--auth-host=scram-sha-256")
            run(POSTGRES / "initdb", "-D", data, *cluster, "-U", "postgres", user=_POSTGRES)
        options = ("-c", f"listen_addresses={HOST}", "-c", f"unix_socket_directories={data}")
        spawn(self.suite, "postgresql", POSTGRES / "postgres", "-D", data, "-p", port, *options, user=_POSTGRES)
        # It listens before it accepts connections.
        is_ready = partial(_succeeds, POSTGRES / "pg_isready", "-q", "-h", data, "-p", port)
        running = partial(is_running, self.suite, "postgresql")
        wait_until(is_ready, running, "postgresql is not ready", self.suite.log("postgresql"))
        if not loaded.exists():
            psql = (POSTGRES / "psql", "-X", "-q", "-h", data, "-p", port, "-U", "postgres", "-v", "ON_ERROR_STOP=1")
            sql = (folder / "sql" / "databases.sql").read_text(encoding="utf-8")
            run(*psql, "-d", "postgres", "-f", "-", user=_POSTGRES, input_=sql)
            loaded.touch()

    def _memcached(self) -> None:
        port = str(self.suite.port("MEMCACHED"))
        spawn(self.suite, "memcached", "/usr/bin/memcached", "-l", HOST, "-p", port, "-m", "32", user=_MEMCACHED)
        wait_for_port(self.suite, "memcached", self.suite.port("MEMCACHED"))

    def _sogo(self) -> None:
        folder = self.suite.folder / "sogo"
        self._folder(folder, _SOGO)
        # sogod reads /etc/sogo/sogo.conf alone. As arguments, the settings leave that of the machine as it is.
        settings = command_line((folder / "sogo.conf").read_text(encoding="utf-8"))
        command = ("/usr/sbin/sogod", *settings, "-WONoDetach", "YES")
        spawn(self.suite, "sogo", *command, user=_SOGO, cwd=folder)
        wait_for_port(self.suite, "sogo", self.suite.port("SOGO"))

    def _web(self) -> None:
        folder = self.suite.folder / "nginx"
        (folder / "nginx.conf").write_text(_NGINX.format(folder=folder))
        spawn(self.suite, "web", "/usr/sbin/nginx", "-e", "stderr", "-c", folder / "nginx.conf")
        wait_for_port(self.suite, "web", self.suite.port("WEB"))

    def _synapse(self) -> None:
        folder = self.suite.folder / "synapse"
        key = folder / "signing.key"
        if not key.exists():
            # As `generate_signing_key` of Synapse writes it. The program would take two seconds to start for this.
            seed = base64.b64encode(secrets.token_bytes(32)).decode().rstrip("=")
            key.touch(mode=0o600)
            key.write_text(f"ed25519 a_{secrets.token_hex(2)} {seed}\n")
        # Synapse adds the branch of a repository around it to its version; its LDAP module then registers no user.
        apart = ("env", f"GIT_CEILING_DIRECTORIES={self.python.absolute().parents[1]}")
        command = (self.python, "-m", "synapse.app.homeserver", "-c", folder / "homeserver.yaml")
        spawn(self.suite, "synapse", *apart, *command, cwd=folder)
        wait_for_port(self.suite, "synapse", self.suite.port("MATRIX"))

    def _folder(self, folder: Path, user: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_root():
            shutil.chown(folder, *ids_of(user))
        # Its parents have files of other users.
        folder.chmod(0o700)


def _has_process(file: Path) -> bool:
    return file.exists() and (pid := file.read_text().strip()).isdecimal() and Path(f"/proc/{pid}").exists()


def _succeeds(*command: str | Path) -> bool:
    try:
        run(*command)
    except CannotStart:
        return False
    return True
