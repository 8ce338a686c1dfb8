import { createHash } from 'node:crypto';
import type { ClinicSandbox } from '../../../sandbox/clinic/index.ts';
import type { GoogleSandbox } from '../../../sandbox/google/index.ts';
import type { GraphSandbox } from '../../../sandbox/graph/index.ts';
import { ON_THIS_MACHINE } from '../../../sandbox/kit/outbound.ts';
import type { SmsSandbox } from '../../../sandbox/sms/index.ts';
import { tenantVariable } from '../../../src/settings/tenant-secrets.ts';
import type { RedisHouse } from './redis-house.ts';

/** Long enough that a worker keeps it, short enough that its end is waited for. */
const LEASE_TTL_MS = 2_000;
const MOST_PACE = 6;
const SCARCE = { requestsPerMinute: 600, burst: 5 };

/** Servers that the settings name. */
export interface SettingServers {
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  graph: GraphSandbox;
  sms: SmsSandbox;
  /** The clinic behind its gate. */
  clinicUrl: string;
  /** How much busier than idle the machine is. */
  pace: number;
  scarce: boolean;
  /** What the daemons keep outside Redis lies here. */
  dataDirectory: string;
  redis: RedisHouse;
}

/** What `clinic-mirror.yaml` says, without CRMs. */
export function settingsOf({
  clinic,
  google,
  graph,
  clinicUrl,
  pace,
  scarce,
  dataDirectory,
  redis,
}: SettingServers): object {
  return {
    redis: redis.settings,
    dataDirectory,
    operator: { port: 0 },
    outbound: ON_THIS_MACHINE,
    secrets: {
      identityKey: { env: 'CLINIC_MIRROR_IDENTITY_KEY' },
      sealingKeys: [{ id: 'k1', key: { env: 'CLINIC_MIRROR_SEALING_KEY' } }],
    },
    clinicClients: {
      main: {
        profile: 'documented',
        baseUrl: clinicUrl,
        authUrl: clinic.authUrl,
        clientId: clinic.clients[0]?.clientId ?? '',
        clientSecret: { env: 'CLINIC_CLIENT_SECRET' },
        budget: scarce ? SCARCE : { requestsPerMinute: 6_000, burst: 500 },
      },
    },
    googleClients: {
      main: {
        issuer: google.issuer,
        clientId: google.client.clientId,
        clientSecret: { env: 'GOOGLE_CLIENT_SECRET' },
      },
    },
    microsoftClients: {
      main: {
        authority: graph.url,
        clientId: graph.application.clientId,
        clientSecret: { env: 'MICROSOFT_CLIENT_SECRET' },
      },
    },
    schedule: { pullEverySeconds: 10, tokenCheckEverySeconds: 10 },
    tokens: { refreshMarginSeconds: 30 },
    leases: { ttlMs: Math.round(LEASE_TTL_MS * Math.min(pace, MOST_PACE)) },
    log: { level: 'debug' },
  };
}

/** What the settings refer to by name, the same for a seed. */
export function secretsOf({ clinic, google, graph }: SettingServers, seed: number): Record<string, string> {
  return {
    CLINIC_MIRROR_IDENTITY_KEY: keyOf(seed, 'identity'),
    CLINIC_MIRROR_SEALING_KEY: keyOf(seed, 'sealing'),
    CLINIC_CLIENT_SECRET: clinic.clients[0]?.clientSecret ?? '',
    GOOGLE_CLIENT_SECRET: google.client.clientSecret,
    MICROSOFT_CLIENT_SECRET: graph.application.clientSecret ?? '',
  };
}

/** `reminders` of a tenant file: a text message an hour before, at any time of day. */
export function remindersOf({ accountSid, from }: SmsSandbox, url: string, tenant: string): object {
  const authToken = { env: tenantVariable(tenant, 'SMS_TOKEN') };
  return {
    quietHours: { from: '00:00', to: '00:00' },
    minimumLeadMinutes: 0,
    channels: { sms: { kind: 'sms', settings: { accountSid, authToken, from, server: url } } },
    rules: { 'an-hour': { before: 'PT1H', channels: ['sms'] } },
  };
}

function keyOf(seed: number, name: string): string {
  return createHash('sha256').update(`${name} ${seed}`).digest('base64');
}
