/**
 * Scopes of the protocol itself. Providers leave them out of their answers or write them otherwise, and what they bring is
 * seen elsewhere: `offline_access` in the refresh token, and Salesforce's `refresh_token`, another name of it.
 */
const PROTOCOL_SCOPES: ReadonlySet<string> = new Set(['openid', 'offline_access', 'refresh_token', 'profile', 'email']);

const GRAPH = 'https://graph.microsoft.com/';

/**
 * The needed scopes that were not granted, in the order in which they are needed. A person may untick scopes (clinic API
 * section 5.1; Google's granular consent), and a provider may take some away at any refresh.
 */
export function missingScopes(needed: readonly string[], granted: readonly string[]): string[] {
  const held = new Set(granted);
  return needed.filter((scope) => !PROTOCOL_SCOPES.has(scope) && !held.has(scope) && !isHeldAtGraph(scope, granted));
}

/** Microsoft answers with the permissions of Graph with or without their address, in any case of letters. */
function isHeldAtGraph(scope: string, granted: readonly string[]): boolean {
  if (!scope.startsWith(GRAPH)) return false;
  const names = new Set([scope.toLowerCase(), scope.slice(GRAPH.length).toLowerCase()]);
  return granted.some((each) => names.has(each.toLowerCase()));
}
