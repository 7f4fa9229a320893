// An OpenID provider on this machine. Prints its issuer, and then what went wrong, if anything did.
//
// Its page for signing in takes a name: `/interaction/…?as=owner@acme.example`. Who comes as `unverified:…` has not proven
// the address, who comes as `mfa:…` used a second factor.
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const SCOPES = "openid email";

function claimsOf(sub) {
  return { sub, email: sub.replace(/^(unverified|mfa):/, ""), email_verified: !sub.startsWith("unverified:") };
}

async function grantAll(context) {
  const { client, provider, session } = context.oidc;
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope(SCOPES);
  await grant.save();
  return grant;
}

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://localhost:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: "registerwatch", client_secret: "a secret: of a test", redirect_uris: [process.argv[2]] }],
    claims: { openid: ["sub", "amr"], email: ["email", "email_verified"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    cookies: { keys: ["of a test"] },
    pkce: { required: () => true },
    loadExistingGrant: grantAll,
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => claimsOf(sub) }),
  });
  const answer = provider.callback();
  server.on("request", (request, response) => {
    const { pathname, searchParams } = new URL(request.url, issuer);
    if (!pathname.startsWith("/interaction/")) return answer(request, response);
    const name = searchParams.get("as");
    const login = { accountId: name, amr: name.startsWith("mfa:") ? ["pwd", "mfa"] : ["pwd"] };
    const result = name === "nobody" ? { error: "access_denied" } : { login };
    return provider.interactionFinished(request, response, result);
  });
  for (const event of ["server_error", "grant.error", "authorization.error"]) {
    provider.on(event, (_context, error) => console.log(event, error.message, error.error_description));
  }
  console.log(issuer);
});
