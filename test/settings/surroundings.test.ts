import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { ENV, load, NONE, SETTINGS, tenantFile, world, writeConfiguration } from './configuration-directory.ts';

describe('settings and profiles', () => {
  test('are not applied with faults; other changes are', () => {
    const { readAgain, write, files } = world();
    const { settings } = files.configuration;
    write('clinic-mirror.yaml', `${SETTINGS}journal: { keepDays: many }\n`);
    write('tenants/due.yaml', tenantFile('2', 'busy'));
    const { after, ...told } = readAgain();
    expect(told).toMatchObject({ ...NONE, changed: ['due'] });
    expect(told.refused).toMatchObject([{ tenant: null, faults: [{ path: 'journal.keepDays' }] }]);
    expect(after.settings).toBe(settings);
  });

  test('are not applied if a running tenant could not continue with them, until its file is adapted', () => {
    const { readAgain, write } = world();
    const renamed = SETTINGS.replace('googleClients:\n  main', 'googleClients:\n  other');
    write('clinic-mirror.yaml', renamed);
    const { refused, ...told } = readAgain();
    expect(told).toMatchObject({ ...NONE, unchanged: 3 });
    expect(refused).toMatchObject([{ tenant: null }]);
    expect(refused[0]?.faults.map(({ path }) => path)).toContain('connections.work.client');
    for (const [index, id] of ['uno', 'due', 'tre'].entries()) {
      write(
        `tenants/${id}.yaml`,
        tenantFile(`${index + 1}`).replace('kind: google, client: main', 'kind: google, client: other'),
      );
    }
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due', 'tre', 'uno'], refused: [] });
  });

  test('are not applied with an invalid profile of a running tenant', () => {
    const { readAgain, write } = world();
    write('profiles/plain.yaml', 'paging: { style: sideways }');
    expect(readAgain()).toMatchObject({
      ...NONE,
      unchanged: 3,
      refused: [{ tenant: null, faults: [{ path: 'paging.style' }] }],
    });
    write('profiles/plain.yaml', 'scopePrefix: "x."');
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due', 'tre', 'uno'], refused: [] });
  });
});

const COMMITTED = join(import.meta.dirname, '../../config');

describe('a valid configuration', () => {
  test('may have no tenants; samples and hidden files are not read', () => {
    const dir = writeConfiguration({ 'tenants/due.yaml.sample': 'not: read', 'tenants/.tre.yaml': 'not: read' });
    expect([...load(dir).tenants.keys()]).toEqual(['uno']);
    rmSync(join(dir, 'tenants'), { recursive: true });
    expect(load(dir).tenants.size).toBe(0);
  });

  test('is the committed one, sample tenant included, once a clinic client is added', () => {
    const dir = writeConfiguration();
    cpSync(COMMITTED, dir, { recursive: true, filter: (name) => !name.endsWith('/schema') });
    const client = '  main: { profile: documented, baseUrl: https://a.test, authUrl: https://b.test, clientId: c }';
    const settings = readFileSync(join(COMMITTED, 'clinic-mirror.yaml'), 'utf8')
      .replace('clinicClients: {}', `clinicClients:\n${client}`)
      .replace('googleClients: {}', 'googleClients:\n  main: { clientId: g, clientSecret: { env: CLIENT_SECRET } }');
    writeFileSync(join(dir, 'clinic-mirror.yaml'), settings);
    cpSync(join(dir, 'tenants/example.yaml.sample'), join(dir, 'tenants/example.yaml'));
    rmSync(join(dir, 'tenants/uno.yaml'));
    const env = {
      ...ENV,
      REDIS_URL: 'redis://127.0.0.1:6390',
      CLINIC_MIRROR_IDENTITY_KEY: ENV.IDENTITY_KEY,
      CLINIC_MIRROR_SEALING_KEY: ENV.SEALING_KEY,
      TENANT_EXAMPLE__DAV_PASSWORD: 'pw',
    };
    expect([...load(dir, { env, connectors }).tenants.keys()]).toEqual(['example']);
  });
});
