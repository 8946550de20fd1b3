-- SPDX-License-Identifier: Apache-2.0
-- Print the result of a run of wrk as one line of JSON; latencies are in microseconds.
return function(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests": %d, "microseconds": %d, "refused": %d, "broken": %d, "bytes": %d, "p50": %d, "p99": %d}\n',
        summary.requests, summary.duration, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
        summary.bytes, latency:percentile(50), latency:percentile(99)))
end
