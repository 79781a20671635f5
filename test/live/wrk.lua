-- SPDX-License-Identifier: BSD-3-Clause
-- wrk's figures as JSON, latency in ns, as the last line.
function done(summary, latency, requests)
	local e = summary.errors
	io.write(string.format(
		'{"requests":%d,"failures":%d,"latency_ns":{"mean":%.0f,"p50":%.0f,"p95":%.0f,"p99":%.0f}}\n',
		summary.requests, e.connect + e.read + e.write + e.status + e.timeout, latency.mean * 1000,
		latency:percentile(50) * 1000, latency:percentile(95) * 1000, latency:percentile(99) * 1000))
end
