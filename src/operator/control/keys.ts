import { keyKinds, ofInstallation, ofInstallationEach } from '../../state/keys.ts';

const { ofTenant } = keyKinds({ isReadUnderFormerIds: false });

/**
 * Keys of the stores of this folder in Redis. `T` is the tenant's id. For terms and lifetimes, see `state/keys.ts`.
 *
 * | key                                  | type   | lifetime          | writer            | reader                |
 * |--------------------------------------|--------|-------------------|-------------------|-----------------------|
 * | `cm:{login}:<hash of state>`         | string | ten minutes       | oauth             | callback, once        |
 * | `cm:{login}:login-link:<ticket hash>` | string | as its link       | oauth             | the link's page       |
 * | `cm:{T}:login-links`                 | hash   | until opened, withdrawn or expired | oauth, operator | the link's page, operator |
 * | `cm:{clinic-mirror}:certificates`    | hash   | seven days        | certificates      | status                |
 * | `cm:{clinic-mirror}:reloads`         | hash   | while files are refused | reload      | status                |
 * | `cm:{clinic-mirror}:audit-log`       | hash   | permanent         | audit log         | audit log             |
 * | `cm:{clinic-mirror}:session:<hash>`  | string | idle time         | sign-in, pages    | pages, API            |
 * | `cm:{clinic-mirror}:sessions-of:<hash of account>` | set | longest session | sign-in        | list of own sessions  |
 * | `cm:{clinic-mirror}:sessions-era:<hash of account>` | string | longest session | "sign out everywhere" | pages, API  |
 * | `cm:{clinic-mirror}:sign-in-link:<ticket hash>` | string | an hour   | daemon, operator  | sign-in, once         |
 * | `cm:{clinic-mirror}:sign-in-attempts:<who>` | string | quarter of an hour | sign-in      | sign-in               |
 * | `cm:{requests-<who>}:requests`       | string | one minute        | pages, API        | pages, API            |
 * | `cm:{clinic-mirror}:passphrase`      | string | permanent         | sign-in           | sign-in               |
 * | `cm:{clinic-mirror}:known-accounts`  | hash   | until released by a command | sign-in | sign-in               |
 * | `cm:{clinic-mirror}:access-tokens`   | hash   | until revoked or expired | operator   | pages, API            |
 */
export const controlKeys = {
  login: (state: string) => `cm:{login}:${state}`,
  loginLinks: ofTenant('login-links'),
  loginLink: (ticket: string) => `cm:{login}:login-link:${ticket}`,
  certificates: ofInstallation('certificates'),
  reloads: ofInstallation('reloads'),
  auditLog: ofInstallation('audit-log'),
  session: ofInstallationEach('session'),
  sessionsOf: ofInstallationEach('sessions-of'),
  sessionsEra: ofInstallationEach('sessions-era'),
  signInLink: ofInstallationEach('sign-in-link'),
  signInAttempts: ofInstallationEach('sign-in-attempts'),
  /** On a cluster, spread over masters: checked with every request. */
  requests: (who: string) => `cm:{requests-${who}}:requests`,
  passphrase: ofInstallation('passphrase'),
  knownAccounts: ofInstallation('known-accounts'),
  accessTokens: ofInstallation('access-tokens'),
} as const;
