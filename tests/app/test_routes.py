# SPDX-License-Identifier: Apache-2.0
from typer.testing import CliRunner

from chamberlain.app.cli import app
from chamberlain.app.routes import ENDPOINTS


def test_it_prints_every_endpoint() -> None:
    lines = CliRunner().invoke(app, ["routes"]).stdout.splitlines()

    assert [tuple(line.split("\t")[:2]) for line in lines] == [(each.method, each.path) for each in ENDPOINTS]
    assert "POST\t/collab/v1/groups/\tcreate_group\tchamberlain.groups.endpoints.create" in lines
    assert "GET\t/health/live\t-\tchamberlain.http.endpoints.live" in lines
