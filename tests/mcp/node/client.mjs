// A client of the tool endpoint, by the official TypeScript SDK of either generation.
// Reads {"generation", "url", "headers", "calls": [{"name", "arguments"}]}, prints what the server said.

import { readFileSync } from "node:fs";

const given = JSON.parse(readFileSync(0, "utf-8"));
const { Client, StreamableHTTPClientTransport } =
  given.generation === 2
    ? await import("@modelcontextprotocol/client")
    : {
        ...(await import("@modelcontextprotocol/sdk/client/index.js")),
        ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
      };

const transport = new StreamableHTTPClientTransport(new URL(given.url), { requestInit: { headers: given.headers } });
const client = new Client({ name: "test", version: "1.0.0" });
await client.connect(transport);
const { tools } = await client.listTools();
const said = [];
for (const call of given.calls) {
  said.push(await client.callTool(call));
}
const told = {
  server: client.getServerVersion(),
  instructions: client.getInstructions(),
  tools: tools.map((tool) => tool.name),
  said,
};
await client.close();
console.log(JSON.stringify(told));
