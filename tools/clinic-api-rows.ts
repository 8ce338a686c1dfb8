/** A requirement of the specification apart from its operations, with its implementation, sandbox and tests. */
export interface SpecificationRow {
  section: string;
  what: string;
  /** File in `src/` and a string that it must contain. */
  client: [file: string, word: string];
  /** The same below `sandbox/`. */
  sandbox: [file: string, word: string];
  /** File below `test/` and the title of a test in it. */
  tests: [file: string, title: string][];
}

const LOGIN = 'oauth/login.test.ts';
const REFRESH = 'oauth/refresh.test.ts';
const SERVERS = 'oauth/sandbox-servers.test.ts';
const DEVICE = 'oauth/device-login.test.ts';
const SANDBOX_LOGIN = 'sandbox/clinic/authorization.test.ts';
const SANDBOX_DEVICE = 'sandbox/clinic/device.test.ts';
const WRITING = 'clinic/whole-api/writing.ts';
const TROUBLE = 'clinic/whole-api/trouble.ts';
const PROVIDER = 'clinic/authorization/provider.ts';

/** Sections 4.1 (the user without tenants), 5, 7, 8 and 9 of the specification. */
export const SPECIFICATION_ROWS: readonly SpecificationRow[] = [
  {
    section: '4.1',
    what: 'A user without tenants is invalid',
    client: ['clinic/read/users.ts', 'user-unknown'],
    sandbox: ['clinic/routes/userinfo.ts', 'withoutTenants'],
    tests: [[TROUBLE, 'a user without tenants']],
  },
  {
    section: '5.1',
    what: 'A user grants some of the scopes; clinic-mirror names the missing scopes',
    client: ['oauth/providers.ts', 'missingScopes'],
    sandbox: ['clinic/authorization/pages.ts', 'scope'],
    tests: [
      [LOGIN, 'scopes that the user unticked are in the result and stored with the credential'],
      [SANDBOX_LOGIN, 'accepts that the user grants a subset; scopes not granted are missing from the token'],
    ],
  },
  {
    section: '5.3',
    what: 'Authorization code, with state and PKCE; codes are used once',
    client: ['oauth/login.ts', 'code_challenge'],
    sandbox: [PROVIDER, 'pkce'],
    tests: [
      [
        LOGIN,
        'requests a code with PKCE S256 and a state, and exchanges it with the verifier and the same redirect URL',
      ],
      [SANDBOX_LOGIN, 'refuses a wrong verifier, and a code that was used before ends its tokens'],
    ],
  },
  {
    section: '5.4',
    what: 'Device code: the first device polls, the user is at another device',
    client: ['oauth/device-login.ts', 'device'],
    sandbox: ['clinic/authorization/device-polling.ts', 'interval'],
    tests: [
      [SERVERS, 'a device sign-in polls, slows down on request, and stores its tokens'],
      [SANDBOX_DEVICE, 'gives tokens after approval, for the scopes that were ticked'],
    ],
  },
  {
    section: '5.5',
    what: 'The token is in the Authorization header, never in a URL',
    client: ['clinic/http/call.ts', 'authorization'],
    sandbox: ['clinic/routes/context.ts', 'never one from the query string'],
    tests: [
      [TROUBLE, 'renews a refused token once, for uploads and downloads too, and never puts the token into a URL'],
    ],
  },
  {
    section: '5.6',
    what: 'Refresh before expiry and when idle; rotated tokens are stored',
    client: ['oauth/refresh.ts', 'refresh'],
    sandbox: [PROVIDER, 'rotateRefreshToken'],
    tests: [
      [REFRESH, '50 workers with separate connections to Redis refresh a rotating token: one call, no family revoked'],
      [REFRESH, 'an idle one is refreshed by the job once a day, although its access token is not used'],
      [SANDBOX_LOGIN, 'refresh tokens slide: they live on while used, and die when idle'],
    ],
  },
  {
    section: '5.6',
    what: 'A revoked access, a disabled user, a revoked client end a refresh token',
    client: ['oauth/error-classes.ts', 'invalid_grant'],
    sandbox: ['clinic/access-verbs.ts', 'revokeAccess'],
    tests: [
      [SERVERS, 'a disabled account ends the connection at the next refresh'],
      [SERVERS, 'a revoked client is a fault in the settings, and the connection stays'],
      [SANDBOX_LOGIN, 'revocation of the application by the user'],
    ],
  },
  {
    section: '5.7',
    what: 'Scopes by resource; a missing scope differs from a missing permission',
    client: ['clinic/http/errors.ts', 'missing-claim'],
    sandbox: ['clinic/routes/guard.ts', 'checkScope'],
    tests: [[TROUBLE, 'a missing scope from a missing permission']],
  },
  {
    section: '5.8',
    what: 'Discovery, authorization and token endpoints, the issuer',
    client: ['oauth/server.ts', 'issuer'],
    sandbox: [PROVIDER, 'issuer'],
    tests: [
      [SERVERS, 'without a discovery document the endpoints of the specification serve'],
      [SANDBOX_LOGIN, 'states the endpoints of the specification and the issuer'],
    ],
  },
  {
    section: '7.1',
    what: '401: one renewal and one replay',
    client: ['clinic/http/call.ts', 'isRenewed'],
    sandbox: ['clinic/routes/guard.ts', 'authenticate'],
    tests: [
      [TROUBLE, 'renews a refused token once, for uploads and downloads too, and never puts the token into a URL'],
    ],
  },
  {
    section: '7.1',
    what: '403: missing claim and insufficient permissions',
    client: ['clinic/http/errors.ts', 'insufficient-permissions'],
    sandbox: ['clinic/routes/guard.ts', 'insufficient_permissions'],
    tests: [[TROUBLE, 'a missing scope from a missing permission']],
  },
  {
    section: '7.2',
    what: '`invalid_grant`: the user must connect again',
    client: ['oauth/error-classes.ts', 'invalid_grant'],
    sandbox: [PROVIDER, 'Grant'],
    tests: [
      [
        REFRESH,
        'invalid_grant without another cause sets the connection to needs-login with its reason, and keeps the tokens',
      ],
    ],
  },
  {
    section: '7.2',
    what: '`authorization_pending`, `slow_down`, `expired_token`, `access_denied`',
    client: ['oauth/device-login.ts', 'slow_down'],
    sandbox: ['clinic/authorization/device-polling.ts', 'slow'],
    tests: [
      [DEVICE, 'slow_down twice: 5, 10, 15 seconds, and it stays there'],
      [SANDBOX_DEVICE, 'answers authorization_pending, and slow_down when polled too fast'],
      [SANDBOX_DEVICE, 'answers access_denied after a refusal'],
      [SANDBOX_DEVICE, 'answers expired_token when the code is too old, and the person cannot use it any more'],
    ],
  },
  {
    section: '8',
    what: 'A PDF of 25 MB at most, checked before it is sent',
    client: ['clinic/write/report-calls.ts', 'checkSize'],
    sandbox: ['clinic/routes/uploads.ts', 'file_too_large'],
    tests: [
      [WRITING, 'no report that is too large, by the profile or by the clinic, and nothing that is no PDF'],
      [
        'clinic/write/report-memory.test.ts',
        'a report of 24.9 MB goes up and comes down without being whole in memory: %s',
      ],
    ],
  },
  {
    section: '8',
    what: 'Invoices one after the other in each section',
    client: ['daemon/clinic.ts', 'serialiseSections'],
    sandbox: ['clinic/rules/invoices.ts', 'outOfSequence'],
    tests: [
      [
        'daemon/clinic.test.ts',
        '90 invoices at once in three sections from three processes: no gap, no duplicate, no refusal',
      ],
      [WRITING, 'no invoice out of sequence, and refuses it at once'],
    ],
  },
  {
    section: '8',
    what: 'Lifetimes of access tokens, refresh tokens and codes',
    client: ['oauth/due.ts', 'accessRefreshAt'],
    sandbox: ['clinic/options.ts', 'accessTokenLifetimeSeconds'],
    tests: [
      ['oauth/due.test.ts', 'is between half of its life and its end, whatever life and spread'],
      [SANDBOX_LOGIN, 'authorization codes expire'],
    ],
  },
  {
    section: '8',
    what: 'A limit of active tokens per client and user',
    client: ['oauth/refresh.ts', 'needs-login'],
    sandbox: ['clinic/authorization/grant-limit.ts', 'oldest'],
    tests: [[SANDBOX_LOGIN, 'the oldest grant dies when a client and user have too many']],
  },
];
