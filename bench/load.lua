-- wrk: sends the requests of a file in turn, as they stand there with a NUL between them,
-- and tells the result as JSON, with times in milliseconds.
local prepared, asked = {}, 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for each in file:read("*a"):gmatch("%Z+") do
    prepared[#prepared + 1] = each
  end
  file:close()
end

function request()
  asked = asked % #prepared + 1
  return prepared[asked]
end

function done(summary, latency, requests)
  local failed = summary.errors
  io.write(string.format(
    '\n{"samples":%d,"seconds":%f,"p50_ms":%f,"p99_ms":%f,"max":%f,"failures":%d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3,
    failed.connect + failed.read + failed.write + failed.status + failed.timeout
  ))
end
