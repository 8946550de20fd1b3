import pytest

from chamberlain.app.cli import routes
from chamberlain.app.routes import ENDPOINTS


def test_it_prints_every_endpoint(capsys: pytest.CaptureFixture[str]) -> None:
    routes()

    lines = capsys.readouterr().out.splitlines()

    assert [tuple(line.split("\t")[:2]) for line in lines] == [(each.method, each.path) for each in ENDPOINTS]
    assert "POST\t/collab/v1/groups/\tcreate_group\tchamberlain.groups.endpoints.create" in lines
    assert "GET\t/health/live\t-\tchamberlain.http.endpoints.live" in lines
