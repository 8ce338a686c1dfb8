import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ConfigurationFault } from '../../src/settings/faults.ts';
import { runHere } from './support/run-command.ts';

const SETTINGS = `redis:
  url: redis://127.0.0.1:6379
http:
  port: eighty
secrets:
  identityKey: c2VjcmV0LWlkZW50aXR5LWtleS1vZi0zMi1ieXRlcyE=
  sealingKeys:
    - { id: k1, key: { env: NO_SUCH_VARIABLE } }
clinicClients:
  main:
    profile: no-such-profile
    baseUrl: http://clinic.example
    authUrl: https://login.clinic.example
    clientId: mirror
    clientSecret: literal-secret-value
    budgett: { requestsPerMinute: 60 }
`;
const TENANT = `name: Clinic
language: fr
zone: Europe/Romme
clinic: { client: mian }
connections:
  doctor: { kind: google, client: main }
  dav: { kind: caldav, username: u, password: literal-password-value }
targets:
  rossi:
    connector: gogle-calendar
    connection: doctor
    agendas: [ag1]
  bianchi:
    connector: caldav
    connection: nowhere
    agendas: all
    titel: busy
    window: { pastDays: -1, futureDays: many }
    settings: { calendar: { url: ftp://dav.example/ } }
`;

test('all faults of a folder are reported at once, each with file, line, path and remedy', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-faults-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  await mkdir(join(dir, 'tenants'));
  await mkdir(join(dir, 'profiles'));
  await writeFile(join(dir, 'clinic-mirror.yaml'), SETTINGS);
  await writeFile(join(dir, 'tenants', 'aurora.yaml'), TENANT);
  await writeFile(join(dir, 'tenants', 'broken.yaml'), 'name: "never closed\nzone: [Europe/Rome\n');
  await writeFile(join(dir, 'profiles', 'documented.yaml'), 'paging: { style: sideways }\n');

  const { code, out } = await runHere({ configDir: dir, env: {} }, ['config', 'check', '--json']);
  const text = await runHere({ configDir: dir, env: {} }, ['config', 'check']);

  expect([code, text.code]).toEqual([2, 2]);
  const { ok, faults } = JSON.parse(out) as { ok: boolean; faults: ConfigurationFault[] };
  expect(ok).toBe(false);
  const at = (file: string, path: string, line: number) =>
    expect(faults).toContainEqual(
      expect.objectContaining({
        file: expect.stringContaining(file),
        path,
        line,
        remedy: expect.stringMatching(/\w+/),
      }),
    );
  at('clinic-mirror.yaml', 'http.port', 4);
  at('clinic-mirror.yaml', 'secrets.identityKey', 6);
  at('clinic-mirror.yaml', 'secrets.sealingKeys.0.key', 8);
  at('clinic-mirror.yaml', 'clinicClients.main.profile', 11);
  at('clinic-mirror.yaml', 'clinicClients.main.baseUrl', 12);
  at('clinic-mirror.yaml', 'clinicClients.main.clientSecret', 15);
  at('clinic-mirror.yaml', 'clinicClients.main.budgett', 16);
  at('aurora.yaml', 'language', 2);
  at('aurora.yaml', 'zone', 3);
  at('aurora.yaml', 'clinic.client', 4);
  at('aurora.yaml', 'connections.doctor.client', 6);
  at('aurora.yaml', 'connections.dav.password', 7);
  at('aurora.yaml', 'targets.rossi.connector', 10);
  at('aurora.yaml', 'targets.bianchi.connection', 15);
  at('aurora.yaml', 'targets.bianchi.titel', 17);
  at('aurora.yaml', 'targets.bianchi.window.pastDays', 18);
  at('aurora.yaml', 'targets.bianchi.window.futureDays', 18);
  at('documented.yaml', 'paging.style', 1);
  expect(faults.some(({ file, line }) => file.includes('broken.yaml') && line !== null)).toBe(true);
  for (const { message } of faults) expect(text.out.replaceAll(/\s+/g, ' ')).toContain(message.slice(0, 30));
  for (const answer of [out, text.out, text.err]) {
    expect(answer).not.toMatch(/literal-secret-value|literal-password-value|c2VjcmV0/);
  }
});
