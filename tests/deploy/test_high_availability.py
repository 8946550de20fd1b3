# SPDX-License-Identifier: Apache-2.0
"""The page of high availability shows what the trial tells Patroni, and the options that it has."""

import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import yaml

from deploy.failover.cluster import Cluster, Node
from tests.deploy.documented_names import is_endpoint
from tests.docs.pages import ROOT, named, section

PAGE = ROOT / "docs" / "how-to" / "high-availability.md"


def test_it_works_as_the_trial_does() -> None:
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    with ExitStack() as started:
        told = Cluster(Path("/nowhere"), started).configuration(Node("one", Path("/nowhere/one"), 5432, 8008))

    documented, ours = yaml.safe_load(shown)["bootstrap"], told["bootstrap"]
    assert isinstance(ours, dict)
    ours["dcs"]["postgresql"]["parameters"].pop("max_connections")
    assert documented == ours


def test_the_load_balancer_waits_longer_than_a_failover_takes() -> None:
    shown = section(PAGE, "## The load balancer")
    ((every, times),) = re.findall(r"inter (\d+)s fall (\d+)", shown)
    ((path, host),) = re.findall(r"uri (\S+) .*hdr Host (\S+)", shown)

    assert int(every) * int(times) >= 40
    assert is_endpoint(path)
    assert f"`CHAMBERLAIN_BASE_URL=https://{host}`" in shown


def test_it_names_every_option_and_figure() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deploy.failover", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    documented = {name.split()[0] for name in named(section(PAGE, "## Try it")) if name.startswith("--")}

    # How many callers there are changes nothing of what is shown.
    assert documented == set(re.findall(r"--[\w-]+", done.stdout)) - {"--help", "--at-once"}
