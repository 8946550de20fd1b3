# SPDX-License-Identifier: Apache-2.0
"""The dashboard and the alert rules name figures that there are, with labels that they have; and the rules fire."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from chamberlain.app.routes import ENDPOINTS
from chamberlain.guests.models import FindingKind
from chamberlain.observability import metrics
from tests.docs.pages import ROOT, named, section
from tests.observability.promql import grouped_by, selectors

FOLDER = ROOT / "deploy" / "observability"
DASHBOARD, ALERTS = FOLDER / "dashboard.json", FOLDER / "alerts.yaml"
CASES = Path(__file__).parent / "alert_cases.yaml"
PAGE = ROOT / "docs" / "how-to" / "alerts.md"

# Of Prometheus itself, and the labels that it adds to everything.
OF_PROMETHEUS = {"up": set[str]()}
ADDED = {"job", "instance"}
LABELS = {
    "chamberlain_retention_removed_rows": {"table"},
    "chamberlain_http_request_duration_seconds": {"endpoint", "method", "status"},
    "chamberlain_jobs_done": {"kind", "outcome"},
    "chamberlain_connections_refused": {"reason"},
    "chamberlain_webhook_deliveries": {"outcome"},
    "chamberlain_findings_open": {"kind"},
    "chamberlain_directory_connections": {"adapter", "state"},
    "chamberlain_directory_connections_oldest_check_seconds": {"adapter"},
    "chamberlain_time_to_ready_seconds": {"tenant", "template", "since", "quantile"},
    "chamberlain_time_to_ready_requests": {"tenant", "template"},
}

# JSON and YAML as they come.
Document = Any


def figures() -> dict[str, set[str]]:
    """Every series that /metrics can show, with its labels."""
    found: dict[str, set[str]] = {}
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", metrics.exposition().decode(), re.MULTILINE):
        labels = LABELS.get(name.removesuffix("_total"), set())
        if kind == "histogram":
            found |= {f"{name}_count": labels, f"{name}_sum": labels, f"{name}_bucket": labels | {"le"}}
        else:
            found[name] = labels
    return found


def panels() -> list[Document]:
    found: list[Document] = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return found


def rules() -> list[Document]:
    (group,) = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    found: list[Document] = group["rules"]
    return found


def expressions() -> Iterator[str]:
    yield from (target["expr"] for panel in panels() for target in panel.get("targets", ()))
    yield from (rule["expr"] for rule in rules())


@pytest.mark.parametrize("expression", list(dict.fromkeys(expressions())))
def test_it_works_with_figures_and_labels_that_there_are(expression: str) -> None:
    known = figures() | OF_PROMETHEUS
    found = selectors(expression)

    assert found
    for selector in found:
        assert selector.metric in known, selector.metric
        labels = known[selector.metric] | ADDED
        assert {name for name, _, _ in selector.matchers} <= labels, selector
        assert grouped_by(expression) <= labels, expression
        # Of a service that is one of many, nothing else is meant.
        assert any(name == "job" for name, _, _ in selector.matchers), selector
        for name, sign, value in selector.matchers:
            if name == "endpoint":
                assert set(value.split("|") if sign == "=~" else [value]) <= {each.path for each in ENDPOINTS}
            if name == "kind":
                assert value in set(FindingKind)


def test_every_figure_of_ours_is_on_the_dashboard() -> None:
    text = DASHBOARD.read_text(encoding="utf-8")
    families = {re.sub(r"_(count|sum|bucket)$", "", name) for name in figures() if name.startswith("chamberlain_")}

    assert [name for name in sorted(families) if name not in text and not name.endswith("_created")] == []


def test_the_dashboard_can_be_imported_anywhere() -> None:
    document = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    places = [(panel["gridPos"], panel["title"]) for panel in panels()]

    assert {each["name"] for each in document["templating"]["list"]} == {"datasource", "job"}
    assert len({panel["id"] for panel in panels()}) == len(panels())
    for panel in panels():
        assert panel["type"] in {"row", "stat", "timeseries"}
        # No source of one installation is named.
        sources = [target["datasource"]["uid"] for target in panel.get("targets", ())]
        assert set(sources) <= {"${datasource}"}
        assert panel["type"] == "row" or panel["description"].endswith(".")
    for place, title in places:
        assert place["x"] + place["w"] <= 24, title
    cells = [
        (column, line)
        for place, _ in places
        for column in range(place["x"], place["x"] + place["w"])
        for line in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))


def test_every_rule_says_what_it_has_to() -> None:
    document = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))

    assert document.keys() == {"groups"}
    for rule in rules():
        assert rule.keys() - {"for"} == {"alert", "expr", "labels", "annotations"}, rule
        assert re.fullmatch(r"Chamberlain[A-Z]\w+", rule["alert"])
        assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))
        assert rule["labels"].keys() == {"severity"}
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"].keys() == {"summary", "description"}
        variables = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        assert variables <= grouped_by(rule["expr"]) | ({"instance"} if not grouped_by(rule["expr"]) else set())
    assert len({rule["alert"] for rule in rules()}) == len(rules())


def test_the_page_says_of_every_rule_what_to_do() -> None:
    assert named(section(PAGE, "## Alert rules")) == [rule["alert"] for rule in rules()]


def test_every_rule_has_a_case_in_which_it_fires() -> None:
    cases = yaml.safe_load(CASES.read_text(encoding="utf-8"))["tests"]
    fire = {each["alertname"] for case in cases for each in case["alert_rule_test"] if each.get("exp_alerts")}

    assert fire == {rule["alert"] for rule in rules()}


@pytest.mark.heavy
@pytest.mark.needs("promtool")
def test_prometheus_takes_the_rules_and_what_the_dashboard_asks(tmp_path: Path) -> None:
    asked = [
        {"record": f"panel:{number}", "expr": target["expr"].replace("$__rate_interval", "5m")}
        for number, target in enumerate(target for panel in panels() for target in panel.get("targets", ()))
    ]
    (tmp_path / "dashboard.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": asked}]}))
    (tmp_path / "alerts.yaml").write_bytes(ALERTS.read_bytes())
    (tmp_path / "cases.yaml").write_bytes(CASES.read_bytes())

    for arguments in (("check", "rules", "alerts.yaml", "dashboard.yaml"), ("test", "rules", "cases.yaml")):
        done = subprocess.run(["promtool", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
