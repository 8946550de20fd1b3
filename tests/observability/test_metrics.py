# SPDX-License-Identifier: Apache-2.0
"""The metrics of /metrics."""

import re

from chamberlain.observability import metrics


def _figure(line: str) -> float:
    found = re.search(rf"^{re.escape(line)} (\S+)$", metrics.exposition().decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_it_works() -> None:
    labels = 'endpoint="/collab/v1/groups/",method="POST",status="202"'
    count = f"chamberlain_http_request_duration_seconds_count{{{labels}}}"
    total = f"chamberlain_http_request_duration_seconds_sum{{{labels}}}"
    before = _figure(count), _figure(total)

    metrics.call_answered("/collab/v1/groups/", "POST", 202, 0.25)
    metrics.call_answered("/collab/v1/groups/", "POST", 202, 0.5)

    assert (_figure(count), _figure(total)) == (before[0] + 2, before[1] + 0.75)


def test_it_counts_jobs_by_kind_and_outcome() -> None:
    line = 'chamberlain_jobs_done_total{kind="group",outcome="succeeded"}'
    before = _figure(line)

    metrics.jobs_done("group", "succeeded", 3)

    assert _figure(line) == before + 3


def test_it_shows_the_queue_as_last_seen() -> None:
    metrics.jobs_seen(queued=5, oldest_seconds=1.5, held=2, parked=3)

    assert _figure("chamberlain_jobs_queued") == 5
    assert _figure("chamberlain_jobs_oldest_seconds") == 1.5
    assert _figure("chamberlain_jobs_held") == 2
    assert _figure("chamberlain_jobs_parked") == 3


def test_it_shows_connections_to_directories_as_last_counted() -> None:
    metrics.directories_seen({("embedded", "ready"): 2, ("embedded", "broken"): 1}, {"embedded": 90.5})
    metrics.directories_seen({("embedded", "ready"): 3}, {"embedded": 30.0})

    assert _figure('chamberlain_directory_connections{adapter="embedded",state="ready"}') == 3
    assert _figure('chamberlain_directory_connections_oldest_check_seconds{adapter="embedded"}') == 30
    assert 'state="broken"' not in metrics.exposition().decode()


def test_it_shows_due_deliveries_as_last_counted() -> None:
    metrics.deliveries_seen(due=7, oldest_seconds=90.5)

    assert _figure("chamberlain_webhook_deliveries_due") == 7
    assert _figure("chamberlain_webhook_deliveries_oldest_seconds") == 90.5


def test_it_shows_open_findings_by_kind() -> None:
    metrics.findings_seen({"drift": 3, "reviewDue": 0})

    assert _figure('chamberlain_findings_open{kind="drift"}') == 3
    assert 'chamberlain_findings_open{kind="reviewDue"} 0.0' in metrics.exposition().decode()


def test_it_shows_how_many_travel_together() -> None:
    before = _figure('chamberlain_submission_batch_size_bucket{le="64.0"}')

    metrics.submissions_written(33)

    assert _figure('chamberlain_submission_batch_size_bucket{le="64.0"}') == before + 1
    assert _figure("process_start_time_seconds") > 0


def test_it_counts_deliveries_and_the_calls_that_were_made() -> None:
    line, count = (
        'chamberlain_webhook_deliveries_total{outcome="again"}',
        "chamberlain_webhook_call_duration_seconds_count",
    )
    before = _figure(line), _figure(count)

    metrics.delivery_run("again", 0.25)
    metrics.delivery_run("again", None)

    assert (_figure(line), _figure(count)) == (before[0] + 2, before[1] + 1)
