# SPDX-License-Identifier: Apache-2.0
"""The ordinary way as a contestant: it asks the database of a running service, and takes the same tokens.

Its environment is made by `dev.py bench`; where there is none, measurements go without it and say so.
"""

import os
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from bench.measuring.database import database_of
from bench.measuring.services import folder_on_disk
from tests.services import TLS, Service, free_port, wait_until

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "bench" / "ordinary" / "tables.sql"
PYTHON = ROOT / ".venv-ordinary" / "bin" / "python"
TENANT = "e57a7e00-0000-4000-8000-000000000001"
READY_WITHIN = 30.0


def is_there() -> bool:
    """Whether its environment was made."""
    return PYTHON.exists()


@contextmanager
def ordinary_way(service: Service) -> Iterator[tuple[str, int]]:
    """Its address and the number of its process, for as long as the block runs."""
    database = database_of(service)
    database.execute(TABLES.read_text())
    issuer = f"https://localhost:{service.port + 1}/identity/{TENANT}/v2.0"
    with folder_on_disk() as folder:
        keys, log = folder / "keys.json", folder / "log.txt"
        keys.write_text(_keys(service, issuer))
        environment = {
            "ORDINARY_DATABASE": database.application.replace("postgresql:", "postgresql+psycopg:", 1),
            "ORDINARY_KEYS": str(keys),
            "ORDINARY_ISSUER": issuer,
        }
        port = free_port()
        command = [str(PYTHON), "-m", "uvicorn", "bench.ordinary.main:app", f"--port={port}", "--no-access-log"]
        with log.open("wb") as stream:
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=stream, stderr=stream, env={**os.environ, **environment}
            )
        try:
            wait_until(lambda: _answers(port), READY_WITHIN, log.read_text)
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.terminate()
            process.wait(timeout=READY_WITHIN)


def _keys(service: Service, issuer: str) -> str:
    trusted = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
    discovery = httpx2.get(f"{issuer}/.well-known/openid-configuration", verify=trusted, trust_env=False).json()
    return httpx2.get(str(discovery["jwks_uri"]), verify=trusted, trust_env=False).text


def _answers(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/openapi.json", verify=TLS, trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False
