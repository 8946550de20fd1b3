# SPDX-License-Identifier: Apache-2.0
"""Histograms of times, their percentiles, and the days of a report.

Bucket n holds times from GROWTH**n up to GROWTH**(n+1) milliseconds. A percentile is the middle of its bucket, so it
differs from the exact one by at most 2.5 %. Histograms of hours are added to those of days and months without loss.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate
from math import ceil, log

from chamberlain.core.errors import Malformed
from chamberlain.core.ids import TemplateId
from chamberlain.figures.models import BucketCount, Days, Percentiles, ReadyTimes, Since

# The error of a percentile is the square root of the growth, less one: 2.5 %.
GROWTH = 1.05
# A report without `from` begins this many days before its last day.
DEFAULT_DAYS = timedelta(days=29)
# Keeps the answer below some megabytes at a hundred templates.
MOST_DAYS = 92


def bucket_of(milliseconds: float) -> int:
    """Return the bucket of a time, as the statement in queries.sql does."""
    return int(log(max(milliseconds, 1.0)) / log(GROWTH))


def percentiles_of(histogram: Mapping[int, int]) -> Percentiles:
    """Return median and 95th percentile by nearest rank.

    The histogram is not empty.
    """
    return Percentiles(_percentile(histogram, 0.5), _percentile(histogram, 0.95))


def days_of(first: date | None, last: date | None, today: date) -> Days:
    """Return the days of a report.

    Raises Malformed for too many, and for an end before the start.
    """
    end = last or today
    begin = first or max(end, date.min + DEFAULT_DAYS) - DEFAULT_DAYS
    if begin > end:
        raise Malformed("invalidParameter", "The query parameter from must not be later than to.")
    if (end - begin).days >= MOST_DAYS:
        detail = f"The query parameters from and to must span at most {MOST_DAYS} days. Read longer periods in parts."
        raise Malformed("invalidParameter", detail)
    return Days(begin, end)


def ready_times(counts: Sequence[BucketCount], names: Mapping[TemplateId, str]) -> Sequence[ReadyTimes]:
    """Return the percentiles of each template and day, oldest day first."""
    histograms: dict[tuple[date, TemplateId], dict[Since, dict[int, int]]] = {}
    for each in counts:
        of_both = histograms.setdefault((each.day, each.template_id), {})
        of_both.setdefault(each.since, {})[each.bucket] = each.count
    return [
        ReadyTimes(
            template_id=template_id,
            template_name=names.get(template_id),
            day=day,
            count=sum(of_both[Since.ACCEPTANCE].values()),
            from_acceptance=percentiles_of(of_both[Since.ACCEPTANCE]),
            from_approval=percentiles_of(of_both[Since.APPROVAL]),
        )
        for (day, template_id), of_both in sorted(histograms.items())
    ]


def _percentile(histogram: Mapping[int, int], share: float) -> int:
    buckets = sorted(histogram)
    rank = ceil(sum(histogram.values()) * share)
    sums = accumulate(histogram[bucket] for bucket in buckets)
    bucket = next(bucket for bucket, below in zip(buckets, sums, strict=True) if below >= rank)
    return round(float(GROWTH ** (bucket + 0.5)))
