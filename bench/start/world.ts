import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { ON_THIS_MACHINE } from '../../sandbox/kit/outbound.ts';
import { tenantVariable } from '../../src/settings/tenant-secrets.ts';

/** Addresses at which nobody answers, on loopback. */
const NOBODY = 'http://127.0.0.1:9';
const PROFILE = fileURLToPath(new URL('../../config/profiles/documented.yaml', import.meta.url));
/** Files written at once. */
const WRITTEN_AT_ONCE = 100;
const NO_SECRET = 'nothing-is-asked-with-it';

/** What the settings name of the environment. */
const SECRETS = {
  CLINIC_MIRROR_IDENTITY_KEY: Buffer.alloc(32, 1).toString('base64'),
  CLINIC_MIRROR_SEALING_KEY: Buffer.alloc(32, 2).toString('base64'),
  A_SECRET: NO_SECRET,
};

/** The environment to which a configuration of so many clinics refers. */
export function secretsOf(count: number): Record<string, string> {
  const names = Array.from({ length: count }, (_, index) => passwordOf(index));
  return { ...SECRETS, ...Object.fromEntries(names.map((name) => [name, NO_SECRET])) };
}

function passwordOf(index: number): string {
  return tenantVariable(`clinic-${index}`, 'DAV_PASSWORD');
}

/** Writes a configuration of many clinics under one client of the clinic system, each with a calendar of every family. */
export async function writeTenants(dir: string, count: number): Promise<void> {
  for (const folder of ['tenants', 'profiles']) await mkdir(join(dir, folder), { recursive: true });
  const secret = { env: 'A_SECRET' };
  const settings = {
    redis: { url: { env: 'REDIS_URL' } },
    outbound: ON_THIS_MACHINE,
    operator: { port: 0 },
    dataDirectory: join(dir, 'data'),
    secrets: {
      identityKey: { env: 'CLINIC_MIRROR_IDENTITY_KEY' },
      sealingKeys: [{ id: 'k1', key: { env: 'CLINIC_MIRROR_SEALING_KEY' } }],
    },
    clinicClients: {
      main: {
        ...{ profile: 'documented', baseUrl: NOBODY, authUrl: NOBODY, clientId: 'a-client', clientSecret: secret },
        budget: { requestsPerMinute: 600, burst: 60 },
      },
    },
    googleClients: { main: { clientId: 'a-client', clientSecret: secret } },
    microsoftClients: { main: { clientId: 'a-client', clientSecret: secret } },
  };
  await writeFile(join(dir, 'clinic-mirror.yaml'), stringify(settings));
  await copyFile(PROFILE, join(dir, 'profiles', 'documented.yaml'));
  for (let first = 0; first < count; first += WRITTEN_AT_ONCE) {
    const indexes = Array.from({ length: Math.min(WRITTEN_AT_ONCE, count - first) }, (_, offset) => first + offset);
    await Promise.all(
      indexes.map((index) => writeFile(join(dir, 'tenants', `clinic-${index}.yaml`), stringify(tenantFile(index)))),
    );
  }
}

function tenantFile(index: number): object {
  const zones = ['Europe/Rome', 'Europe/Berlin', 'Europe/London'];
  const target = (connector: string, connection: string, agenda: number, settings: object) => ({
    ...{ connector, connection, agendas: [String(agenda)], window: { pastDays: 7, futureDays: 180 }, settings },
  });
  const calendar = { create: 'Appointments' };
  return {
    name: `Clinic ${index}`,
    language: 'it',
    zone: zones[index % zones.length],
    clinic: { client: 'main', tenantId: String(index) },
    connections: {
      google: { kind: 'google', client: 'main' },
      microsoft: { kind: 'microsoft', client: 'main' },
      dav: { kind: 'caldav', username: `clinic-${index}`, password: { env: passwordOf(index) } },
    },
    targets: {
      'doctor-1': target('google-calendar', 'google', 1, { calendar }),
      'doctor-2': target('outlook-calendar', 'microsoft', 2, { mailbox: `doctor-${index}@clinic.test`, calendar }),
      'room-1': target('caldav', 'dav', 3, { server: NOBODY, calendar: { home: 'discover', ...calendar } }),
    },
  };
}
