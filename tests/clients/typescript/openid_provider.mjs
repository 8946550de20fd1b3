// SPDX-License-Identifier: Apache-2.0
// The OpenID provider of tests/console/openid_provider.py. It prints its address, and ends with its standard input.
// GET /events returns the grants and errors until now.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const wanted = JSON.parse(process.argv[2]);
const events = [];

// The package warns about its sign-in pages for development, which are those that the tests use.
console.info = console.warn = () => {};

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  server.on("request", start(address).callback());
  console.log(address);
});
process.stdin.on("end", () => process.exit()).resume();

function start(issuer) {
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: wanted.clientId,
        client_secret: wanted.clientSecret,
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: [wanted.redirectUri],
        post_logout_redirect_uris: [wanted.signOutUri],
      },
    ],
    clientAuthMethods: ["client_secret_basic"],
    jwks: { keys: [generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" })] },
    pkce: { required: () => true },
    features: { rpInitiatedLogout: { enabled: true }, resourceIndicators: resources() },
    // The console sends no prompt=consent, without which the provider ignores offline_access.
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    findAccount: (_, name) => (name in wanted.users ? { accountId: name, claims: () => ({ sub: name }) } : undefined),
    extraTokenClaims: (_, token) => ({ oid: wanted.users[token.accountId] }),
  });
  watch(provider);
  return provider;
}

// The console names no resource (RFC 8707), neither for the code nor for the tokens.
function resources() {
  return {
    enabled: true,
    defaultResource: () => wanted.audience,
    useGrantedResource: () => true,
    getResourceServerInfo: () => ({
      audience: wanted.audience,
      scope: wanted.scopes.join(" "),
      accessTokenFormat: "jwt",
      accessTokenTTL: 300,
    }),
  };
}

function watch(provider) {
  provider.on("grant.success", (ctx) => events.push(ctx.oidc.params.grant_type));
  for (const name of ["authorization.error", "grant.error", "end_session.error", "end_session_confirm.error", "server_error"]) {
    provider.on(name, (_, error) => events.push(`${error.error ?? error} at ${name}`));
  }
  provider.use(async (ctx, next) => {
    if (ctx.path === "/events") {
      ctx.body = events;
    } else {
      await next();
    }
  });
}
