/** Scopes of the sign-in itself (OpenID Connect Core section 5.4 and section 11). */
const LOGIN_SCOPES: readonly string[] = ['openid', 'profile', 'email', 'offline_access'];
const GRAPH_SCOPE = /^(?:Calendars\.(?:Read|ReadWrite)(?:\.Shared)?|User\.Read(?:Basic)?(?:\.All)?)$/;
/** The application's registered permissions, which `.default` requests at a user's sign-in. */
const DEFAULT_SCOPES = ['Calendars.ReadWrite', 'User.Read'];

/** The scopes of a request without their resource; undefined when one is unknown. */
export function parseScopes(text: string): string[] | undefined {
  const scopes = text
    .split(' ')
    .filter(Boolean)
    .map((scope) => scope.replace(/^https?:\/\/[^/]+\//, ''))
    .flatMap((scope) => (scope === '.default' ? DEFAULT_SCOPES : [scope]));
  const areKnown = scopes.every((scope) => LOGIN_SCOPES.includes(scope) || GRAPH_SCOPE.test(scope));
  return areKnown && scopes.length > 0 ? [...new Set(scopes)] : undefined;
}

/** The `scope` of a token answer: offline_access is never in it. */
export function toldScopes(scopes: readonly string[]): string {
  return scopes.filter((scope) => scope !== 'offline_access').join(' ');
}
