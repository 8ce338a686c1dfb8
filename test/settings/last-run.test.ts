import { appendFileSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import type { FileUse } from '../../src/settings/last-run.ts';
import {
  CHANNELS,
  CONNECTORS,
  ENV,
  KEY,
  SETTINGS,
  TENANT,
  withOwnSecrets,
  writeConfiguration,
} from './configuration-directory.ts';

function tenantFile(clinic: string): string {
  return TENANT.replace('tenantId: "7"', `tenantId: "${clinic}"`);
}

/** A configuration of three clinics with a data directory, by which a daemon ran. */
function world() {
  const dir = writeConfiguration({
    'data/there': '',
    'tenants/uno.yaml': tenantFile('1'),
    'tenants/due.yaml': tenantFile('2'),
    'tenants/tre.yaml': tenantFile('3'),
  });
  const data = join(dir, 'data');
  const write = (name: string, content: string) => writeFileSync(join(dir, name), withOwnSecrets(name, content));
  write('clinic-mirror.yaml', `${SETTINGS}dataDirectory: ${data}\n`);
  const open = (use: FileUse, { only, env = ENV }: { only?: string; env?: typeof ENV } = {}) =>
    new ConfigurationFiles({
      ...{ dir, env, connectors: CONNECTORS, reminderChannels: CHANNELS, mode: 'set-aside', use },
      ...(only === undefined ? {} : { only }),
    }).configuration;
  open('daemon');
  const [name = ''] = readdirSync(data).filter((each) => each.startsWith('running-'));
  return { write, open, written: join(data, name) };
}

describe('a file that becomes invalid while a daemon runs its tenant', () => {
  test('is refused by commands, which use the configuration of the daemon', () => {
    const { write, open } = world();
    write('tenants/due.yaml', 'no: tenant');
    const { outlines, refused, unusable, tenants } = open('command');
    expect([...outlines.keys()]).toEqual(['due', 'tre', 'uno']);
    expect(tenants.get('due')?.clinic.tenantId).toBe('2');
    expect([refused.map(({ tenant }) => tenant), unusable]).toEqual([['due'], []]);
  });

  test('disables the tenant at the next start of a daemon', () => {
    const { write, open } = world();
    write('tenants/due.yaml', 'no: tenant');
    expect(open('daemon').unusable).toMatchObject([{ id: 'due' }]);
    expect(open('command').unusable).toMatchObject([{ id: 'due' }]);
  });
});

describe('the last configuration of a daemon', () => {
  test('can be read by its owner only, and holds no secret', () => {
    const { written } = world();
    expect(statSync(written).mode & 0o777).toBe(0o600);
    const text = readFileSync(written, 'utf8');
    expect(text).toContain('Studio Uno');
    for (const secret of Object.values(ENV)) expect(text).not.toContain(secret);
  });

  test.each<[string, (file: string) => void]>([
    ['emptied', (file) => truncateSync(file, 0)],
    ['cut off', (file) => truncateSync(file, statSync(file).size - 10)],
    ['longer', (file) => appendFileSync(file, 'x')],
    ['changed by others', (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('Uno', 'Due'))],
  ])('is ignored if it is %s', (_, spoil) => {
    const { write, open, written } = world();
    write('tenants/due.yaml', 'no: tenant');
    spoil(written);
    expect(open('command').unusable).toMatchObject([{ id: 'due' }]);
  });

  test('is ignored under another identity key', () => {
    const { write, open } = world();
    write('tenants/due.yaml', 'no: tenant');
    const env = { ...ENV, IDENTITY_KEY: KEY.replace('B', 'C') };
    expect(open('command', { env }).unusable).toMatchObject([{ id: 'due' }]);
  });
});

describe('a query of one tenant', () => {
  test('reads that file only', () => {
    const { write, open } = world();
    write('tenants/due.yaml', 'no: tenant');
    const { outlines, refused, unusable } = open('command', { only: 'uno' });
    expect([[...outlines.keys()], refused, unusable]).toEqual([['uno'], [], []]);
  });

  test('finds that it is of the same clinic as a tenant that a daemon runs', () => {
    const { write, open } = world();
    write('tenants/quattro.yaml', tenantFile('2'));
    expect(open('command', { only: 'quattro' }).unusable).toMatchObject([
      { id: 'quattro', faults: [{ message: 'the tenant due is the same clinic' }] },
    ]);
  });

  test('loads all files if the tenant does not exist', () => {
    const { open } = world();
    expect([...open('command', { only: 'unknown' }).outlines.keys()]).toEqual(['due', 'tre', 'uno']);
  });
});
