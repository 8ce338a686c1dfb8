import { join } from 'node:path';
import { clinicClient, keysOf, localSettings, writeConfiguration } from '../../demo/configuration.ts';
import { tenantVariable } from '../../src/settings/tenant-secrets.ts';

/** Loopback URL without a server. */
const NOBODY = 'http://127.0.0.1:9';
const NO_SECRET = 'nothing-is-asked-with-it';

/** What the settings name of the environment. */
const SECRETS = {
  ...keysOf(),
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
  const secret = { env: 'A_SECRET' };
  const settings = {
    ...localSettings(),
    dataDirectory: join(dir, 'data'),
    clinicClients: {
      main: clinicClient(
        { baseUrl: NOBODY, authUrl: NOBODY, clients: [] },
        { clientId: 'a-client', clientSecret: secret, budget: { requestsPerMinute: 600, burst: 60 } },
      ),
    },
    googleClients: { main: { clientId: 'a-client', clientSecret: secret } },
    microsoftClients: { main: { clientId: 'a-client', clientSecret: secret } },
  };
  const files = Array.from({ length: count }, (_, index): [string, object] => [`clinic-${index}`, tenantFile(index)]);
  await writeConfiguration(dir, { settings, files: new Map(files) });
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
