-- wrk: asks the targets of a file in turn, each with its tag, and tells the result as JSON.
local prepared, asked = {}, 0

function init(args)
  for line in io.lines(args[1]) do
    local target, tag = line:match("^([^\t]*)\t?(.*)$")
    local headers = nil
    if tag ~= "" then
      headers = { ["If-None-Match"] = tag, ["Host"] = wrk.headers["Host"] }
    end
    prepared[#prepared + 1] = wrk.format("GET", target, headers)
  end
end

function request()
  asked = asked % #prepared + 1
  return prepared[asked]
end

function done(summary, latency, requests)
  local failed = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%f,"p50":%f,"p99":%f,"max":%f,"failures":%d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e6, latency:percentile(99) / 1e6, latency.max / 1e6,
    failed.connect + failed.read + failed.write + failed.status + failed.timeout
  ))
end
