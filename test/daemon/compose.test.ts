import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ON_THIS_MACHINE } from '../../sandbox/kit/outbound.ts';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { cachedEntries, compose } from '../../src/daemon/compose.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { tenantVariable } from '../../src/settings/tenant-secrets.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const directory = mkdtempSync(join(tmpdir(), 'clinic-mirror-renamed-'));
const PROFILES = join(import.meta.dirname, '../../config/profiles');

afterAll(() => rmSync(directory, { recursive: true }));

/** The tag of the only target of a tenant file under this name, as the daemon would put it on objects. */
async function ownerTagOf(tenant: string, target: string, formerly: { tenant?: string; target?: string } = {}) {
  const dir = mkdtempSync(join(directory, 'config-'));
  cpSync(PROFILES, join(dir, 'profiles'), { recursive: true });
  mkdirSync(join(dir, 'tenants'));
  const key = Buffer.alloc(32, 7).toString('base64');
  const clinic = { profile: 'documented', baseUrl: 'http://127.0.0.1:1', authUrl: 'http://127.0.0.1:1', clientId: 'c' };
  const settings = {
    redis: { url: redis.url },
    outbound: ON_THIS_MACHINE,
    secrets: { identityKey: { env: 'KEY' }, sealingKeys: [{ id: 'k1', key: { env: 'KEY' } }] },
    clinicClients: { main: clinic },
  };
  const file = {
    name: 'Studio',
    language: 'it',
    zone: 'Europe/Rome',
    clinic: { client: 'main', tenantId: '1' },
    ...(formerly.tenant === undefined ? {} : { formerly: formerly.tenant }),
    connections: { dav: { kind: 'caldav', username: 'u', password: { env: tenantVariable(tenant, 'PASSWORD') } } },
    targets: {
      [target]: {
        connector: 'caldav',
        connection: 'dav',
        agendas: 'all',
        ...(formerly.target === undefined ? {} : { formerly: formerly.target }),
        settings: { calendar: { url: 'http://127.0.0.1:1/calendar/' } },
      },
    },
  };
  writeFileSync(join(dir, 'clinic-mirror.yaml'), stringify(settings));
  writeFileSync(join(dir, 'tenants', `${tenant}.yaml`), stringify(file));
  const env = { KEY: key, [tenantVariable(tenant, 'PASSWORD')]: 'of the calendar' };
  const configuration = loadConfiguration({ dir, env, connectors, reminderChannels, mode: 'strict' });
  const composition = compose({ configuration, log: silentLogger, priority: 'background' });
  try {
    return composition.installation.tenants.get(tenant)?.targets.get(target)?.identity.ownerTag;
  } finally {
    await composition.close();
  }
}

test('a renamed target or tenant is a new one, unless its file gives the former name', async () => {
  const tag = await ownerTagOf('rossi', 'doctor');
  expect(tag).toMatch(/^[0-9a-v]{16}$/);
  expect(await ownerTagOf('rossi', 'dr-rossi')).not.toBe(tag);
  expect(await ownerTagOf('studio-rossi', 'doctor')).not.toBe(tag);
  expect(await ownerTagOf('rossi', 'dr-rossi', { target: 'doctor' })).toBe(tag);
  expect(await ownerTagOf('studio-rossi', 'dr-rossi', { tenant: 'rossi', target: 'doctor' })).toBe(tag);
});

test.each([
  ['256 MiB', 256, 250_000],
  ['1 GiB', 1_024, 268_435],
  ['4 GiB', 4_096, 1_073_741],
])('a process with a largest heap of %s caches so many appointments and links', (_, mebibytes, entries) => {
  expect(cachedEntries(mebibytes * 1_024 ** 2)).toBe(entries);
});
