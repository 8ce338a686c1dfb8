import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { atOnce } from '../../src/core/model/pieces.ts';
import { inPieces } from '../../src/core/pieces/in-pieces.ts';
import type { Configuration } from '../../src/settings/configuration.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import type { ManagedTenant } from '../../src/settings/managed-tenant.ts';
import type { LoadOptions } from '../../src/settings/reading.ts';
import { CHANNELS, CONNECTORS, ENV, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';

const ofClinic = (clinic: string, more = '') => TENANT.replace('tenantId: "7"', `tenantId: "${clinic}"`).concat(more);
const unnamed = TENANT.replace(', tenantId: "7"', '').replace('agendas: all', 'agendas: ["1"]');

/** Tenants with many conflicts. */
const FILES = {
  'tenants/a-calendar.yaml': unnamed,
  'tenants/b-broken.yaml': ofClinic('1').replace('zone: Europe/Rome', 'zone: Nowhere'),
  'tenants/c-first.yaml': ofClinic('1'),
  'tenants/d-second.yaml': ofClinic('1'),
  'tenants/e-formerly-later.yaml': ofClinic('2', 'formerly: z-last\n'),
  'tenants/f-loses-both.yaml': ofClinic('1', 'formerly: gone\n'),
  'tenants/g-formerly-gone.yaml': ofClinic('3', 'formerly: gone\n'),
  'tenants/h-of-loser.yaml': ofClinic('2'),
  'tenants/i-calendar.yaml': unnamed,
  'tenants/j-managed.yaml': ofClinic('9'),
  'tenants/k-formerly-broken.yaml': ofClinic('4', 'formerly: y-broken\n'),
  'tenants/y-broken.yaml': 'name: [',
  'tenants/z-last.yaml': ofClinic('5'),
  'tenants/Not An Id.yaml': ofClinic('6'),
};

const managed = (id: string, yaml: string): [string, ManagedTenant] => {
  const open = () => ({ yaml, json: JSON.stringify({}), secrets: {} });
  return [id, { id, revision: 'r1', open }];
};
/** A managed tenant with the name of a file, and one with a broken document. */
const MANAGED = new Map([managed('j-managed', 'name: ['), managed('m-broken', 'name: [')]);

function begin(dir: string, more: Partial<LoadOptions> = {}): Promise<ConfigurationFiles> {
  const options = { dir, env: ENV, connectors: CONNECTORS, reminderChannels: CHANNELS, mode: 'set-aside' as const };
  return ConfigurationFiles.open(
    { ...options, ...more },
    async () => MANAGED,
    async (work) => atOnce(work),
  );
}

function decisions({ outlines, unusable, refused, managed: ids }: Configuration) {
  const faults = Object.fromEntries(unusable.map(({ id, faults: found }) => [id, found]));
  return { running: [...outlines.values()], faults, refused, managed: [...ids] };
}

test('tenants checked in portions give the same result as all at once, and none runs before its check', async () => {
  const dir = writeConfiguration(FILES);
  const whole = decisions((await begin(dir)).configuration);
  expect(whole.running.map(({ id }) => id)).toEqual(['a-calendar', 'c-first', 'uno', 'z-last']);
  for (const most of [1, 2, 5, 100]) {
    const files = await begin(dir, { use: 'daemon' });
    const all = [...files.configuration.unchecked];
    expect(all).toHaveLength(15);
    expect(decisions(files.configuration)).toMatchObject({ running: [], faults: {} });
    while (files.configuration.unchecked.size > 0) {
      const before = files.configuration;
      const { outlines, unusable, unchecked } = atOnce(files.check(most));
      for (const id of unchecked) expect(outlines.has(id) || unusable.some((each) => each.id === id), id).toBe(false);
      for (const id of before.outlines.keys()) expect(outlines.get(id), id).toBe(before.outlines.get(id));
      expect(unchecked.size).toBe(Math.max(0, before.unchecked.size - most));
    }
    expect(decisions(files.configuration), `${most} at once`).toEqual(whole);
    expect(atOnce(files.check())).toBe(files.configuration);
  }
});

test('a file that comes during the checks is read after them, and takes nothing from one that runs', async () => {
  const dir = writeConfiguration({
    'tenants/uno.yaml': ofClinic('1'),
    'tenants/due.yaml': ofClinic('2', 'formerly: new\n'),
  });
  const files = await begin(dir, { use: 'daemon' });
  expect([...files.configuration.unchecked]).toContain('due');
  atOnce(files.check(1));
  writeFileSync(join(dir, 'tenants', 'new.yaml'), ofClinic('3'));
  rmSync(join(dir, 'tenants', 'uno.yaml'));
  const { outlines, unusable } = atOnce(files.check());
  expect([...outlines.keys()]).toEqual(['due']);
  expect(unusable.map(({ id }) => id)).toContain('uno');
  const next = atOnce(files.readAgain(atOnce(files.readStamps())));
  expect([...next.outlines.keys()]).toEqual(['due']);
  expect(next.unusable.map(({ id }) => id)).toContain('new');
  expect(next.unusable.map(({ id }) => id)).not.toContain('uno');
});

test('no tenant is added while others are unchecked, and the running configuration is saved after all are checked', async () => {
  const dir = writeConfiguration({ 'tenants/uno.yaml': ofClinic('1'), 'tenants/due.yaml': ofClinic('2') });
  const data = join(dir, 'data');
  writeFileSync(join(dir, 'clinic-mirror.yaml'), `${SETTINGS}dataDirectory: ${data}\n`);
  const files = await begin(dir, { use: 'daemon' });
  const [, wanted] = managed('new', ofClinic('1'));
  atOnce(files.check(1));
  await expect(inPieces(files.faultsOf(wanted))).rejects.toMatchObject({ code: 'tenant-unchecked', retry: 'later' });
  expect(existsSync(data)).toBe(false);
  atOnce(files.check());
  expect(atOnce(files.faultsOf(wanted))).toMatchObject([{ other: 'uno' }]);
  expect(readdirSync(data)).toHaveLength(1);
});

test('faults of the settings end a start before any tenant is read', async () => {
  const dir = writeConfiguration({ 'clinic-mirror.yaml': 'redis: [', 'tenants/uno.yaml': 'name: [' });
  const faultsOf = async (more: Partial<LoadOptions>) =>
    (await begin(dir, more).catch((error) => error)).faults.map(({ file }: { file: string }) =>
      file.slice(dir.length + 1),
    );
  expect(await faultsOf({ use: 'daemon' })).not.toContain('tenants/uno.yaml');
  expect(await faultsOf({})).toEqual(expect.arrayContaining(['clinic-mirror.yaml', 'tenants/uno.yaml']));
});
