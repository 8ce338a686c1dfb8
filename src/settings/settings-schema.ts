import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { accessSection, approvals, auditLog, operatorUrl } from './access-schema.ts';
import { baseAddress, mapOf, name, network, text, wholeNumber } from './common-schemas.ts';
import {
  budget,
  certificate,
  hubSpotClient,
  oauthClient,
  optionalClientSecret,
  registrationId,
  salesforceClient,
  secretEndsOn,
} from './crm-clients.ts';
import { alertsSection } from './delivery-schema.ts';
import { outboundSection } from './outbound-schema.ts';
import { redisSection } from './redis-schema.ts';
import type { SecretSchemas } from './secret-reference.ts';

/** A field name of HTTP (RFC 9110 section 5.6.2). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** One line of visible characters (RFC 9110 section 5.5). */
const HEADER_VALUE = /^[\x20-\x7e]+$/;
/** https://opentelemetry.io/docs/specs/semconv/general/naming/ */
const ATTRIBUTE_NAME = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$/;

/** Where traces and log lines go beside the log. */
export function telemetrySection(secrets: SecretSchemas) {
  const headerValue = secrets.text.refine(
    (value) => HEADER_VALUE.test(value.reveal()),
    issueText(message('settings.one-line')),
  );
  return z
    .strictObject({
      endpoint: z
        .url({ protocol: /^https?$/ })
        .refine(isBase, issueText(message('settings.collector')))
        .transform((written) => written.replace(/\/+$/, ''))
        .describe('Address of the collector, before /v1/traces and /v1/logs'),
      allowPrivateAddresses: z
        .boolean()
        .default(false)
        .describe('The collector is in your own network: private addresses and http are allowed'),
      protocol: z.enum(['http/protobuf', 'http/json']).default('http/protobuf').describe('How OTLP is spoken'),
      headers: mapOf(headerValue, z.string().regex(HEADER_NAME, issueText(message('settings.header-name'))))
        .prefault({})
        .describe('Headers of each request, such as a key, by their names'),
      traces: z.boolean().default(true).describe('Send traces'),
      logs: z.boolean().default(true).describe('Send log lines'),
      sampledShare: z.number().min(0).max(1).default(1).describe('Share of traces that are sent, from 0 to 1'),
      serviceName: text.default('clinic-mirror').describe('What the collector calls this installation (service.name)'),
      resource: mapOf(text, z.string().regex(ATTRIBUTE_NAME, issueText(message('settings.attribute-name'))))
        .prefault({})
        .describe('More of what tells it from others, such as deployment.environment.name'),
      tellOthers: z
        .boolean()
        .default(false)
        .describe('Send the trace context (traceparent) along with requests to clinics, vendors and gateways'),
    })
    .refine(({ endpoint, allowPrivateAddresses }) => allowPrivateAddresses || endpoint.startsWith('https:'), {
      path: ['endpoint'],
      message: issueText(message('settings.private-collector')),
    })
    .optional()
    .describe(
      'A collector of OpenTelemetry that is sent traces and log lines; without it nothing is sent, and nothing of it is loaded',
    );
}

function isBase(written: string): boolean {
  const url = URL.parse(written);
  return url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
}

/** Where traces and log lines go, as read. */
export type TelemetrySettings = NonNullable<z.output<ReturnType<typeof telemetrySection>>>;

/** What `clinicClients.*.baseUrl` is. */
export const CLINIC_BASE_URL = { description: 'Address of the clinic API' };

function clinicClient(secrets: SecretSchemas) {
  return z.strictObject({
    profile: name.describe('Name of a file in profiles/, without .yaml: how this clinic system answers'),
    baseUrl: baseAddress.meta(CLINIC_BASE_URL),
    authUrl: baseAddress.describe('Address of the authorization server'),
    clientId: registrationId(),
    clientSecret: optionalClientSecret(secrets),
    clientSecretEndsOn: secretEndsOn,
    discovery: z
      .boolean()
      .default(true)
      .describe('Read the endpoints from the discovery document; else those of the specification are taken'),
    deviceEndpoint: baseAddress.optional().describe('Address for logins by device code, where discovery names none'),
    budget: budget({ requestsPerMinute: 60, burst: 10 }),
  });
}

/** The default stays below the 10,000 requests a minute of a Google project (Calendar API, usage limits, 2026-05-01). */
function googleClient(secrets: SecretSchemas) {
  return z.strictObject({
    issuer: baseAddress
      .default('https://accounts.google.com')
      .describe('Address of the authorization server. Default: https://accounts.google.com'),
    clientId: registrationId(),
    clientSecret: secrets.text.describe('Secret of the registration'),
    clientSecretEndsOn: secretEndsOn,
    budget: budget({ requestsPerMinute: 6_000, burst: 100 }),
  });
}

/**
 * The default stays below what Graph allows an application over all organisations, 2,000 requests a second; each mailbox has
 * its own limit (https://learn.microsoft.com/graph/throttling-limits).
 */
function microsoftClient(secrets: SecretSchemas) {
  return z.strictObject({
    authority: baseAddress
      .default('https://login.microsoftonline.com')
      .describe('Address of the authorization server. Default: https://login.microsoftonline.com'),
    clientId: registrationId(),
    clientSecret: optionalClientSecret(secrets),
    clientSecretEndsOn: secretEndsOn,
    certificate: certificate(secrets)
      .optional()
      .describe('PEM with the private RSA key and its certificate, for logins of the application itself'),
    budget: budget({ requestsPerMinute: 12_000, burst: 400 }),
  });
}

const share = z.number().min(0).max(1).describe('Limit as a share of what the target holds, from 0 to 1');
const count = wholeNumber(0).describe('Limit as a number of items; removals are held when both limits are exceeded');

/** Limits of the guard: removals beyond both share and count are held for a person. */
const guard = z
  .strictObject({
    vanished: z
      .strictObject({ share: share.default(0.2), count: count.default(10) })
      .prefault({})
      .describe('For appointments that are no longer in the clinic system'),
    cancelled: z
      .strictObject({ share: share.default(0.6), count: count.default(50) })
      .prefault({})
      .describe('For appointments that the clinic cancelled'),
    holdExpiresAfterHours: wholeNumber(1, 8_760).default(168).describe('A hold that nobody decided ends after this'),
  })
  .prefault({});

/** A target's own limits; what it leaves out comes from the settings. */
export const guardOverrides = z
  .strictObject({
    vanished: z.strictObject({ share: share.optional(), count: count.optional() }).prefault({}),
    cancelled: z.strictObject({ share: share.optional(), count: count.optional() }).prefault({}),
    holdExpiresAfterHours: wholeNumber(1, 8_760).optional().describe('A hold that nobody decided ends after this'),
  })
  .prefault({});

function secretKeys(secrets: SecretSchemas) {
  const sealingKey = z.strictObject({
    id: name.describe('Stands beside every value that the key sealed'),
    key: secrets.key.describe('32 bytes in base64 or hexadecimal'),
  });
  return z.strictObject({
    identityKey: secrets.key.describe('32 bytes that the names of remote objects derive from. Never change it.'),
    sealingKeys: z
      .array(sealingKey)
      .min(1)
      .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, issueText(message('settings.key-ids')))
      .describe('Keys that seal tokens and waiting content. The first seals, all open: put a new one first to rotate.'),
  });
}

const schedule = z
  .strictObject({
    pullEverySeconds: wholeNumber(10, 86_400).default(300).describe('How often a tenant is read from the clinic'),
    auditEverySeconds: wholeNumber(60, 604_800)
      .default(21_600)
      .describe('How often what the targets hold is read back and compared'),
    tokenCheckEverySeconds: wholeNumber(10, 86_400).default(120).describe('How often logins are looked after'),
    subscriptionCheckEverySeconds: wholeNumber(10, 3_600)
      .default(300)
      .describe('How often notifications are looked after'),
  })
  .prefault({});

const notifications = z
  .strictObject({
    url: baseAddress
      .optional()
      .describe('How Google and Microsoft reach /notifications of http.port; without it targets are only polled'),
    settleMs: wholeNumber(0, 60_000)
      .default(1_000)
      .describe('A target that is said to have changed is looked at after this time, once for all that was said in it'),
  })
  .prefault({});

const journal = z
  .strictObject({
    keepDays: wholeNumber(1, 366)
      .default(30)
      .describe('How long it is kept what each run changed and deleted, for undo; no content is'),
  })
  .prefault({});

const removed = z
  .strictObject({
    keepDays: wholeNumber(1, 3_660)
      .default(30)
      .describe(
        'How long what is kept here of a removed target, connection or tenant stays, from when it is first missed',
      ),
  })
  .prefault({});

const push = z
  .strictObject({
    sliceOperations: wholeNumber(1, 10_000).default(200).describe('Most operations of one turn of a target'),
    sliceSeconds: wholeNumber(1, 300).default(20).describe('Longest turn of a target'),
    targetConcurrency: wholeNumber(1, 1_000)
      .default(128)
      .describe('Targets that are written to at once; those of one vendor are half of them at most'),
  })
  .prefault({});

const tokens = z
  .strictObject({
    refreshMarginSeconds: wholeNumber(30, 3_600).default(300).describe('A token is refreshed this long before it ends'),
    confirmRefusalAfterSeconds: wholeNumber(1, 3_600)
      .default(120)
      .describe('A refused login that had worked is tried once more after this time, before it counts as ended'),
    keepAliveAfterHours: wholeNumber(1, 720).default(24).describe('An unused login is refreshed after this time'),
  })
  .prefault({});

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** The port for the outside, and how it is reached. Both are null where none is opened. */
const http = z
  .strictObject({
    host: text.default('127.0.0.1').describe('Address to listen on for the outside; 0.0.0.0 in a container'),
    port: wholeNumber(0, 65_535)
      .optional()
      .describe(
        'Port for browsers, vendors and gateways: logins by a link, notifications, reports and answers of patients; 0 takes a free one. Without it no such port is open',
      ),
    publicUrl: baseAddress
      .optional()
      .describe('How browsers reach this port; logins come back to it. Default: http://localhost:<port>'),
    trustedProxies: z
      .array(network)
      .default([])
      .describe(
        'Networks of your reverse proxies, in CIDR (10.0.0.0/24). Only from these peers does X-Forwarded-For name the client, on this port and on the port of operator. Without it all clients behind a proxy share one limit',
      ),
    loginPort: wholeNumber(0, 65_535)
      .default(0)
      .describe(
        'A login by browser on this machine comes back to http://127.0.0.1:<loginPort>/callback, which some authorization servers must know with its port; 0 takes a free port each time',
      ),
  })
  .transform(({ port = null, publicUrl, ...others }) => {
    if (port === null) return { ...others, port, publicUrl: null };
    return { ...others, port, publicUrl: publicUrl ?? `http://localhost:${port}` };
  })
  .prefault({});

/** One word, as a header can carry it. A shorter one can be guessed; 32 random bytes are 64 hexadecimal digits. */
const OPERATOR_TOKEN = /^[\x21-\x7e]{32,}$/;

function operatorSection(secrets: SecretSchemas) {
  return z
    .strictObject({
      host: text.default('127.0.0.1').describe('Address to listen on for monitoring; any but the loopback needs token'),
      port: wholeNumber(0, 65_535)
        .default(8_090)
        .describe('Port of /metrics, /healthz and /readyz, of pages and API where access is set; 0 takes a free one'),
      publicUrl: operatorUrl
        .optional()
        .describe('How browsers of administrators reach this port. Default: http://localhost:<port>'),
      token: secrets.text
        .refine((token) => OPERATOR_TOKEN.test(token.reveal()), issueText(message('settings.operator-token')))
        .optional()
        .describe(
          'Whoever asks for metrics, or why the daemon is not ready, must show it: Authorization: Bearer <token>',
        ),
      access: accessSection(secrets)
        .optional()
        .describe('Who may look at the pages and call the API of this port; without it there are none'),
    })
    .prefault({});
}

/** Schema of `clinic-mirror.yaml`: what holds for the whole daemon. */
export function settingsSchema(secrets: SecretSchemas) {
  return z.strictObject({
    redis: redisSection(secrets),
    dataDirectory: text
      .optional()
      .describe(
        'Directory that outlives Redis, for all daemons and commands of this installation; by it a Redis that lost something is told, tombstones and opt-outs come back, the audit log is kept, and commands work on what a daemon runs where a file has faults',
      ),
    http,
    operator: operatorSection(secrets),
    secrets: secretKeys(secrets),
    clinicClients: mapOf(clinicClient(secrets)).prefault({}).describe('Registrations of this daemon at clinic systems'),
    googleClients: mapOf(googleClient(secrets)).prefault({}).describe('Registrations of this daemon at Google'),
    microsoftClients: mapOf(microsoftClient(secrets))
      .prefault({})
      .describe('Registrations of this daemon at Microsoft'),
    hubspotClients: mapOf(hubSpotClient(secrets)).prefault({}).describe('Applications of this daemon at HubSpot'),
    salesforceClients: mapOf(salesforceClient(secrets))
      .prefault({})
      .describe('Applications of this daemon at Salesforce'),
    oauthClients: mapOf(oauthClient(secrets))
      .prefault({})
      .describe('Registrations of this daemon at any other authorization server'),
    schedule,
    outbound: outboundSection,
    notifications,
    guard,
    journal,
    auditLog,
    approvals,
    removed,
    alerts: alertsSection(secrets),
    telemetry: telemetrySection(secrets),
    push,
    tokens,
    leases: z
      .strictObject({
        ttlMs: wholeNumber(1_000, 600_000)
          .default(30_000)
          .describe('A lease that nobody renews ends after this, also when nothing else tells that its holder died'),
        silentMs: wholeNumber(4_000, 60_000)
          .default(6_000)
          .describe(
            'A process that Redis has not heard of for so long has died: what it held is free. It gives up a tenth earlier',
          ),
      })
      .prefault({}),
    log: z
      .strictObject({
        level: z.enum(LOG_LEVELS).default('info').describe('The least level that is written'),
        format: z
          .enum(['json', 'text'])
          .optional()
          .describe('json: one object a line; text: lines for people. Default: text in a terminal, else json'),
      })
      .prefault({}),
  });
}

/** The daemon's settings as `clinic-mirror.yaml` gives them, defaults filled in. */
export type Settings = z.output<ReturnType<typeof settingsSchema>>;
/** Limits of the guard of one target. */
export type GuardSettings = Settings['guard'];
/** An application at Salesforce. */
export type SalesforceClient = z.output<ReturnType<typeof salesforceClient>>;
