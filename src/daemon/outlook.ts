import { lookAtCertificate } from '../core/http/certificate.ts';
import { pinnedLookup } from '../core/http/pinned.ts';
import { eachInPieces, slices } from '../core/model/pieces.ts';
import type { Ending, QuotaStatus } from '../core/model/state-schemas.ts';
import { type Clock, DAY_MS, type Instant } from '../core/model/time.ts';
import { inPieces } from '../core/pieces/in-pieces.ts';
import { readCertificate } from '../oauth/assertion.ts';
import type { CertificateStore } from '../operator/control/certificate-store.ts';
import type { Forecast } from '../operator/control/status-schemas.ts';
import type { Configuration, TenantConfiguration } from '../settings/configuration.ts';
import { addressesOf } from '../settings/outbound-checks.ts';
import { OPERATORS_REACH, type Reach, reachOf } from '../settings/outbound-schema.ts';
import type { RedisLocation } from '../settings/redis-schema.ts';
import { Secret } from '../settings/secret-reference.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { readBudgetUse } from '../state/budget.ts';
import { whyNotDurable } from '../state/redis-check.ts';
import type { Stores } from './stores.ts';

/** Client sections with the names of their budgets. */
const BUDGETS = {
  clinicClients: 'clinic',
  googleClients: 'google',
  microsoftClients: 'microsoft',
  hubspotClients: 'hubspot',
  salesforceClients: 'salesforce',
  oauthClients: 'oauth',
} as const;

/** Servers that are checked in parallel. */
const LOOKED_AT_ONCE = 8;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'rediss:': 6_379 };

/** Returns known expiry dates, use of request budgets, and why Redis can lose data. */
export async function readForecast(
  settings: Settings,
  { redis, certificates }: Pick<Stores, 'redis' | 'certificates'>,
  clock: Clock,
): Promise<Forecast> {
  const now = clock();
  const secrets: Ending[] = [...ownCertificates(settings)];
  const quotas: QuotaStatus[] = [];
  for (const [section, prefix] of Object.entries(BUDGETS)) {
    for (const [name, { clientId, budget, clientSecretEndsOn }] of settings[section as keyof typeof BUDGETS]) {
      const client = `${section} ${name}`;
      if (clientSecretEndsOn !== undefined) {
        secrets.push({ kind: 'secret', of: client, beganAt: null, endsAt: Date.parse(clientSecretEndsOn) });
      }
      const used = await readBudgetUse(redis, `${prefix}-${clientId}`);
      const { requestsPerMinute, requestsPerDay } = budget;
      const days = requestsPerDay === undefined ? [] : [...used.lastDay].map((day) => dayOf(day, requestsPerDay, now));
      quotas.push({ client, hourShare: used.lastHour / (60 * requestsPerMinute), days });
    }
  }
  const fault = await whyNotDurable(redis);
  const unkept =
    fault === null
      ? null
      : { code: fault.code, sentence: fault.message, next: fault.remedy ?? null, texts: fault.texts };
  return { endings: [...secrets, ...(await certificates.read())], quotas, unkept };
}

/** Returns the certificates that authenticate applications. */
function ownCertificates({ clinicClients, microsoftClients, oauthClients, salesforceClients }: Settings): Ending[] {
  return Object.entries({ clinicClients, microsoftClients, oauthClients, salesforceClients }).flatMap(
    ([section, clients]) =>
      [...clients].flatMap(([name, client]): Ending[] => {
        const read = client.certificate === undefined ? null : readCertificate(client.certificate.reveal());
        return read === null
          ? []
          : [{ kind: 'secret', of: `${section} ${name}`, beganAt: read.beganAt, endsAt: read.endsAt }];
      }),
  );
}

/** At the pace of the last 24 hours. */
function dayOf([tenant, used]: readonly [string, number], perDay: number, now: Instant): QuotaStatus['days'][number] {
  const remainingMs = used === 0 ? null : (Math.max(0, perDay - used) / used) * DAY_MS;
  return { tenant, share: used / perDay, usedUpAt: remainingMs === null ? null : now + remainingMs };
}

/** Checks the certificate of every configured server and stores the expiry. */
export async function lookAtCertificates(
  { settings, tenants }: Configuration,
  store: CertificateStore,
  signal: AbortSignal,
): Promise<void> {
  const servers = new Map<string, { host: string; port: number; reach: Reach }>();
  const addServer = (address: string, reach = OPERATORS_REACH) => {
    const { hostname, port, protocol } = new URL(address);
    const host = hostname.replace(/^\[|\]$/g, '');
    const number = port === '' ? (DEFAULT_PORTS[protocol] ?? 443) : Number(port);
    const of = `${host}:${number}`;
    if (!servers.has(of)) servers.set(of, { host, port: number, reach });
  };
  for (const address of [...redisAddresses(settings.redis.place.reveal()), ...addressesIn(settings)])
    addServer(address);
  // Tenants are read from their files one by one: all at once would take a hundred megabytes and block other work.
  const addServers = (tenant: TenantConfiguration) => {
    for (const { url, purpose } of addressesOf(tenant)) {
      if (url.protocol === 'https:' && purpose !== 'mail') addServer(url.href, reachOf(settings.outbound, purpose));
    }
  };
  await inPieces(eachInPieces(tenants.values(), addServers));
  const seen: Ending[] = [];
  for (const some of slices([...servers], LOOKED_AT_ONCE)) {
    const looks = some.map(async ([of, { host, port, reach }]) => {
      const found = await lookAt(host, port, reach, signal);
      if (found !== null) seen.push({ kind: 'certificate', of, ...found });
    });
    await Promise.all(looks);
  }
  if (!signal.aborted) await store.write(seen);
}

/** A host that must not be reached gets no other kind of connection either. */
async function lookAt(host: string, port: number, reach: Reach, signal: AbortSignal) {
  try {
    return await lookAtCertificate(host, port, pinnedLookup({ host, isPlain: false }, reach), signal);
  } catch {
    return null;
  }
}

/** Lists every TLS URL in a configuration, except in secrets. */
function* addressesIn(value: unknown): Generator<string> {
  if (typeof value === 'string') {
    if (/^https:\/\/\S+$/.test(value) && URL.canParse(value)) yield value;
  } else if (value instanceof Map || Array.isArray(value)) {
    for (const each of value.values()) yield* addressesIn(each);
  } else if (typeof value === 'object' && value !== null && !(value instanceof Secret)) {
    for (const each of Object.values(value)) yield* addressesIn(each);
  }
}

function redisAddresses(location: RedisLocation): string[] {
  if (typeof location === 'string') return location.startsWith('rediss://') ? [location] : [];
  const servers = 'cluster' in location ? location.cluster : location.sentinels;
  return location.tls
    ? servers.map(({ host, port }) => `rediss://${host.includes(':') ? `[${host}]` : host}:${port}`)
    : [];
}
