// Uses the interface by the types that were generated from its description; every mistake in a name is an error of tsc.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

declare const process: { argv: string[] };

const [url, udi, email] = process.argv.slice(2) as [string, string, string];
const anybody = createClient<paths>({ baseUrl: url });

const found = await anybody.GET("/v1/search", { params: { query: { q: udi } } });
const device = await anybody.GET("/v1/devices/{udi}", { params: { path: { udi } } });
const missing = await anybody.GET("/v1/devices/{udi}", { params: { path: { udi: "04012345678901" } } });
const opened = await anybody.POST("/v1/trial", { body: { email, password: "correct horse" } });
if (!found.data || !device.data || !opened.data) throw new Error("an answer is missing");

const headers = { "X-API-Key": opened.data.api_key ?? "" };
const owner = createClient<paths>({ baseUrl: url, headers });
const once = { header: { "Idempotency-Key": "once" } };
const added = await owner.POST("/v1/watches", { params: once, body: { subject: udi } });
const again = await owner.POST("/v1/watches", { params: once, body: { subject: udi } });
const watches = await owner.GET("/v1/watches");
const events = await owner.GET("/v1/events");

console.log(JSON.stringify({
  results: found.data.results.map((each) => each.udi),
  device: device.data.udi,
  read: device.data.read_at,
  missing: missing.error?.error,
  email: (await owner.GET("/v1/me")).data?.email,
  same: added.data?.watch.id === again.data?.watch.id,
  watched: watches.data?.watches.map((each) => each.subject),
  since: new Date(added.data?.watch.created_at ?? "").getFullYear(),
  events: events.data?.events.map((each) => each.summary),
}));
