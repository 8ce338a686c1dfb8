import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { accessSection, approvals, auditLog, operatorUrl } from './access-schema.ts';
import { baseAddress, mapOf, name, network, text, wholeNumber } from './common-schemas.ts';
import {
  budget,
  certificate,
  clientKey,
  hubSpotClient,
  oauthClient,
  optionalClientSecret,
  registrationId,
  salesforceClient,
  secretEndsOn,
} from './crm-clients.ts';
import { alertsSection } from './delivery-schema.ts';
import { outboundSection } from './outbound-schema.ts';
import { limits, redisSection } from './redis-schema.ts';
import type { SecretSchemas } from './secret-reference.ts';
import { telemetrySection } from './telemetry-schema.ts';

/** Parsed export of traces and logs. */
export type TelemetrySettings = NonNullable<z.output<ReturnType<typeof telemetrySection>>>;

export const CLINIC_BASE_URL = { description: 'Base URL of the clinic API.' };

function clinicClient(secrets: SecretSchemas) {
  return z.strictObject({
    profile: name.meta({
      description: "Name of a file in `profiles/`, without `.yaml`. The file describes the clinic system's API.",
      examples: ['documented'],
    }),
    baseUrl: baseAddress.meta(CLINIC_BASE_URL),
    authUrl: baseAddress.meta({
      description: 'Base URL of the authorization server.',
      examples: ['https://login.clinic.example'],
    }),
    clientId: registrationId(),
    clientSecret: optionalClientSecret(secrets),
    clientSecretEndsOn: secretEndsOn,
    certificate: clientKey(secrets),
    discovery: z
      .boolean()
      .default(true)
      .describe(
        "Reads the endpoints from the server's discovery document. `false` uses the endpoints of the clinic API specification.",
      ),
    deviceEndpoint: baseAddress
      .optional()
      .describe('URL for the device code flow, if the discovery document contains none.'),
    budget: budget({ requestsPerMinute: 60, burst: 10 }),
  });
}

/** The default is below the limit of a Google project, 10,000 requests a minute (Calendar API, usage limits, 2026-05-01). */
function googleClient(secrets: SecretSchemas) {
  return z.strictObject({
    issuer: baseAddress
      .default('https://accounts.google.com')
      .describe('URL of the authorization server. Default: `https://accounts.google.com`.'),
    clientId: registrationId(),
    clientSecret: secrets.text.describe('Client secret of the registration.'),
    clientSecretEndsOn: secretEndsOn,
    budget: budget({ requestsPerMinute: 6_000, burst: 100 }),
  });
}

/**
 * The default is below Graph's limit per application over all organisations, 2,000 requests a second; each mailbox has a separate limit
 * (https://learn.microsoft.com/graph/throttling-limits).
 */
function microsoftClient(secrets: SecretSchemas) {
  return z.strictObject({
    authority: baseAddress
      .default('https://login.microsoftonline.com')
      .describe('URL of the authorization server. Default: `https://login.microsoftonline.com`.'),
    clientId: registrationId(),
    clientSecret: optionalClientSecret(secrets),
    clientSecretEndsOn: secretEndsOn,
    certificate: certificate(secrets)
      .optional()
      .describe('PEM file with an RSA private key and the certificate, for connections of kind `microsoft-app`.'),
    budget: budget({ requestsPerMinute: 12_000, burst: 400 }),
  });
}

const share = z.number().min(0).max(1).describe("Limit as a share of the target's content, from 0 to 1.");
const count = wholeNumber(0).describe(
  'Limit as a number of appointments. The daemon holds removals only if the number exceeds both limits.',
);

/** Limits of the guard: removals above both share and count wait for an approval. */
const guard = z
  .strictObject({
    vanished: z
      .strictObject({ share: share.default(0.2), count: count.default(10) })
      .prefault({})
      .describe(
        'Limits for appointments that are missing from the clinic system. The daemon holds removals that exceed `count` and `share`, together with the removals of the last hour or of the last seven days. Removing half of a target also causes a hold, from three missing appointments on, unless `share` is 0.5 or more. The same limits, within the last hour, apply to objects that were removed by hand and that the daemon would restore.',
      ),
    cancelled: z
      .strictObject({ share: share.default(0.6), count: count.default(50) })
      .prefault({})
      .describe(
        'Limits for appointments that the clinic cancelled. The daemon holds removals that exceed `count` and `share`, together with the removals of the last hour. Cancelled and missing appointments have separate totals.',
      ),
    holdExpiresAfterHours: wholeNumber(1, 8_760).default(168).describe('Hours after which an undecided hold expires.'),
  })
  .prefault({});

/** A target's limits; missing values come from the settings. */
export const guardOverrides = z
  .strictObject({
    vanished: z.strictObject({ share: share.optional(), count: count.optional() }).prefault({}),
    cancelled: z.strictObject({ share: share.optional(), count: count.optional() }).prefault({}),
    holdExpiresAfterHours: wholeNumber(1, 8_760).optional().describe('Hours after which an undecided hold expires.'),
  })
  .prefault({});

function secretKeys(secrets: SecretSchemas) {
  const sealingKey = z.strictObject({
    id: name.meta({
      description: 'Id of the key. clinic-mirror stores the id next to every encrypted value.',
      examples: ['k1'],
    }),
    key: secrets.key.describe('32 bytes in base64 or hexadecimal. To create a key, run `openssl rand -base64 32`.'),
  });
  return z.strictObject({
    identityKey: secrets.key.describe(
      '32 bytes from which clinic-mirror derives the names of remote events and objects. Never change the key: the daemon refuses another key, because it would write everything a second time.',
    ),
    sealingKeys: z
      .array(sealingKey)
      .min(1)
      .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, issueText(message('settings.key-ids')))
      .describe(
        'Keys that encrypt tokens and queued content. The first key encrypts; every key decrypts. To rotate, add a new key as the second one, restart every daemon, and then make it the first, as docs/runbook.md describes.',
      ),
  });
}

const schedule = z
  .strictObject({
    pullEverySeconds: wholeNumber(10, 86_400).default(300).describe("Seconds between two reads of a tenant's clinic."),
    auditEverySeconds: wholeNumber(60, 604_800)
      .default(21_600)
      .describe(
        'Seconds between two audits. An audit reads the events and objects of a target and compares the content with the saved state.',
      ),
    tokenCheckEverySeconds: wholeNumber(10, 86_400)
      .default(120)
      .describe('Seconds between two checks of all connections.'),
    subscriptionCheckEverySeconds: wholeNumber(10, 3_600)
      .default(300)
      .describe("Seconds between two checks of the vendors' notification subscriptions."),
  })
  .prefault({});

const notifications = z
  .strictObject({
    url: baseAddress.optional().meta({
      description:
        'Public URL through which Google and Microsoft reach `/notifications` on the public port. Requires https with a certificate that browsers trust. Without a value the daemon finds manual changes only by polling.',
      examples: ['https://mirror.example.org'],
    }),
    settleMs: wholeNumber(0, 60_000)
      .default(1_000)
      .describe(
        "Milliseconds between a vendor's notification and the check of the target. The daemon combines all notifications of this period into one check.",
      ),
  })
  .prefault({});

const journal = z
  .strictObject({
    keepDays: wholeNumber(1, 366)
      .default(30)
      .describe(
        'Days for which the journal keeps the changes and deletions of each run, for `clinic-mirror undo`. The journal contains no content.',
      ),
  })
  .prefault({});

const removed = z
  .strictObject({
    keepDays: wholeNumber(1, 3_660)
      .default(30)
      .describe(
        'Days for which clinic-mirror keeps the state of a removed target, connection or tenant. The period starts when the daemon first misses the name.',
      ),
  })
  .prefault({});

const push = z
  .strictObject({
    sliceOperations: wholeNumber(1, 10_000)
      .default(200)
      .describe('Maximum number of operations in one work slice of a target.'),
    sliceSeconds: wholeNumber(1, 300)
      .default(20)
      .describe('Maximum duration of one work slice of a target, in seconds.'),
    targetConcurrency: wholeNumber(1, 1_000)
      .default(128)
      .describe(
        'Maximum number of targets that the daemon writes at the same time. Targets of one vendor use at most half of this number, targets of one of several tenants a quarter.',
      ),
  })
  .prefault({});

const tokens = z
  .strictObject({
    refreshMarginSeconds: wholeNumber(30, 3_600)
      .default(300)
      .describe('Seconds before expiry at which the daemon refreshes a token.'),
    confirmRefusalAfterSeconds: wholeNumber(1, 3_600)
      .default(120)
      .describe(
        'Seconds until the daemon retries a connection that the vendor refused but that worked before. After a second refusal the connection has ended.',
      ),
    keepAliveAfterHours: wholeNumber(1, 720)
      .default(24)
      .describe('Hours after which the daemon refreshes an unused connection.'),
  })
  .prefault({});

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** The public port and its URL; both null without a public port. */
const http = z
  .strictObject({
    host: text.default('127.0.0.1').describe('IP address that the public port listens on. Use 0.0.0.0 in a container.'),
    port: wholeNumber(0, 65_535)
      .optional()
      .meta({
        description:
          'Public port for browsers, vendors and gateways: sign-in links, notifications, delivery reports and patient answers. 0 selects a free port. Without a value the port is closed.',
        examples: [8080],
      }),
    publicUrl: baseAddress.optional().meta({
      description:
        'Public URL of this port. Authorization servers redirect to `<publicUrl>/oauth/callback`. Default: `http://localhost:<port>`.',
      examples: ['https://mirror.example.org'],
    }),
    trustedProxies: z
      .array(network)
      .default([])
      .meta({
        description:
          'Networks of your reverse proxies in CIDR notation. The daemon trusts the header X-Forwarded-For only from these proxies, on the public port and on the operator port. Without a value all clients behind a proxy share one rate limit.',
        examples: [['10.0.7.0/24']],
      }),
    loginPort: wholeNumber(0, 65_535)
      .default(0)
      .meta({
        description:
          'Port for a connection that you make in a browser on this host. The authorization server redirects to `http://127.0.0.1:<loginPort>/callback`; some servers require a fixed port. 0 selects a free port each time.',
        examples: [8765],
      }),
  })
  .transform(({ port = null, publicUrl, ...others }) => {
    if (port === null) return { ...others, port, publicUrl: null };
    return { ...others, port, publicUrl: publicUrl ?? `http://localhost:${port}` };
  })
  .prefault({});

/** One word for a header. A shorter token can be guessed; 32 random bytes are 64 hexadecimal digits. */
const OPERATOR_TOKEN = /^[\x21-\x7e]{32,}$/;

function operatorSection(secrets: SecretSchemas) {
  return z
    .strictObject({
      host: text
        .default('127.0.0.1')
        .describe(
          'IP address that the operator port listens on. Any value except the loopback address requires `operator.token`.',
        ),
      port: wholeNumber(0, 65_535)
        .default(8_090)
        .describe(
          'Port of `/metrics`, `/healthz` and `/readyz`, and of the pages and the API if `operator.access` is set. 0 selects a free port.',
        ),
      publicUrl: operatorUrl.optional().meta({
        description: "URL of this port for administrators' browsers. Default: `http://localhost:<port>`.",
        examples: ['https://mirror.example.org'],
      }),
      token: secrets.text
        .refine((token) => OPERATOR_TOKEN.test(token.reveal()), issueText(message('settings.operator-token')))
        .optional()
        .describe(
          'Token that a client must send for metrics and for the reasons of a failed readiness check: `Authorization: Bearer <token>`.',
        ),
      access: accessSection(secrets)
        .optional()
        .describe('Access to the pages and the API of this port. Without a value both are off.'),
    })
    .prefault({});
}

const leases = z
  .strictObject({
    ttlMs: wholeNumber(1_000, 600_000)
      .default(30_000)
      .describe(
        'Milliseconds after which a lease without renewal expires, even if no other sign shows that the holder has died.',
      ),
    silentMs: wholeNumber(4_000, 60_000)
      .default(6_000)
      .describe(
        'Milliseconds without contact to Redis after which a process is considered dead and the leases of the process are free. The process stops 10 % earlier.',
      ),
  })
  .prefault({});

const log = z
  .strictObject({
    level: z.enum(LOG_LEVELS).default('info').describe('Lowest level that the daemon logs.'),
    format: z
      .enum(['json', 'text'])
      .optional()
      .describe(
        '`json`: one object per line. `text`: readable lines. Default: `text` in a terminal, otherwise `json`.',
      ),
  })
  .prefault({});

/** Schema of `clinic-mirror.yaml`, the settings of the whole daemon. */
export function settingsSchema(secrets: SecretSchemas) {
  return z.strictObject({
    redis: redisSection(secrets),
    dataDirectory: text.optional().meta({
      description:
        'Directory for files that must survive a loss of Redis: copies of tombstones and opt-outs, the audit log, and a counter that shows whether Redis holds an older copy of the state. All daemons and commands of one installation need the same directory. If a tenant file has faults, the daemon continues with the last valid version, and commands read this version from the directory.',
      examples: ['/var/lib/clinic-mirror'],
    }),
    http,
    operator: operatorSection(secrets),
    secrets: secretKeys(secrets),
    clinicClients: mapOf(clinicClient(secrets))
      .prefault({})
      .describe('Client registrations of this daemon with clinic systems.'),
    googleClients: mapOf(googleClient(secrets))
      .prefault({})
      .describe(
        'Client registrations of this daemon with Google. Connections of kind `google` refer to one of these names.',
      ),
    microsoftClients: mapOf(microsoftClient(secrets))
      .prefault({})
      .describe(
        'Client registrations of this daemon with Microsoft. Connections of kinds `microsoft` and `microsoft-app` refer to one of these names.',
      ),
    hubspotClients: mapOf(hubSpotClient(secrets))
      .prefault({})
      .describe(
        'Apps of this daemon in HubSpot. Connections of kind `hubspot` refer to one of these names. A Service Key needs no app.',
      ),
    salesforceClients: mapOf(salesforceClient(secrets))
      .prefault({})
      .describe(
        'Connected apps of this daemon in Salesforce. Connections of kinds `salesforce` and `salesforce-app` refer to one of these names.',
      ),
    oauthClients: mapOf(oauthClient(secrets))
      .prefault({})
      .describe(
        'Client registrations with any other authorization server. clinic-mirror uses the authorization code flow with PKCE and sends client id and secret in the request body. The server must issue refresh tokens; if the server requires a scope such as `offline_access`, add that scope to `scopes`.',
      ),
    schedule,
    outbound: outboundSection,
    notifications,
    guard,
    journal,
    auditLog,
    approvals,
    removed,
    limits,
    alerts: alertsSection(secrets),
    telemetry: telemetrySection(secrets),
    push,
    tokens,
    leases,
    log,
  });
}

/** Parsed `clinic-mirror.yaml` with defaults. */
export type Settings = z.output<ReturnType<typeof settingsSchema>>;
/** Limits of the guard of a target. */
export type GuardSettings = Settings['guard'];
export type SalesforceClient = z.output<ReturnType<typeof salesforceClient>>;
