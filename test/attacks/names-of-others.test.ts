import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { atOnce } from '../../src/core/model/pieces.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { faultsAsSeen } from '../../src/settings/faults.ts';
import {
  CHANNELS,
  CONNECTORS,
  ENV,
  faultLines,
  load,
  TENANT,
  writeConfiguration,
} from '../settings/configuration-directory.ts';

/*
 * The name of a tenant or target owns reminders, opt-outs, tombstones and events. A second file or target that claims the name as a former
 * name would share them.
 */

const tenant = (clinic: string, formerly?: string) =>
  TENANT.replace('tenantId: "7"', `tenantId: "${clinic}"`) + (formerly === undefined ? '' : `formerly: ${formerly}\n`);

describe('a former name that belongs to another tenant', () => {
  test('by the name of its file is refused', () => {
    const dir = writeConfiguration({ 'tenants/zwei.yaml': tenant('8', 'uno') });
    expect(faultLines(dir)).toEqual([
      expect.stringMatching(
        /^tenants\/zwei\.yaml:14 formerly: the tenant uno already exists → remove formerly, or the other file/,
      ),
    ]);
  });

  test('by the name of its file is refused, in any alphabetical order', () => {
    const dir = writeConfiguration({ 'tenants/a.yaml': tenant('8', 'uno') });
    expect(faultLines(dir)).toEqual([
      expect.stringMatching(/^tenants\/a\.yaml:14 formerly: the tenant uno already exists/),
    ]);
    expect([...load(dir, { mode: 'set-aside' }).tenants.keys()]).toEqual(['uno']);
  });

  test('because the other tenant had it before is refused in the later file', () => {
    const dir = writeConfiguration({ 'tenants/a.yaml': tenant('8', 'alt'), 'tenants/b.yaml': tenant('9', 'alt') });
    expect(faultLines(dir)).toEqual([
      expect.stringMatching(/^tenants\/b\.yaml:14 formerly: the tenant a previously had the same name/),
    ]);
  });

  test('is refused too if that tenant is skipped for faults: its state is kept', () => {
    const dir = writeConfiguration({ 'tenants/uno.yaml': 'name: [', 'tenants/zwei.yaml': tenant('8', 'uno') });
    const { tenants, unusable } = load(dir, { mode: 'set-aside' });
    expect([...tenants.keys(), ...unusable.map(({ id }) => id)]).toEqual(['uno', 'zwei']);
  });

  test('is accepted after the tenant is gone, as is a tenant’s own former name', () => {
    const dir = writeConfiguration({ 'tenants/uno.yaml': tenant('7', 'uno'), 'tenants/zwei.yaml': tenant('8', 'alt') });
    expect([...load(dir).tenants.keys()]).toEqual(['uno', 'zwei']);
  });
});

test('a fault names the owner of a name or clinic only to users who may see that tenant', () => {
  const faultsOf = (file: string) => {
    const dir = writeConfiguration({ 'tenants/zwei.yaml': file });
    return load(dir, { mode: 'set-aside' }).unusable.flatMap(({ faults }) => faults);
  };
  const faults = [...faultsOf(tenant('8', 'uno')), ...faultsOf(tenant('7'))];
  expect(faultsAsSeen(faults, () => true).map(({ message }) => message)).toEqual([
    'the tenant uno already exists',
    'the tenant uno is the same clinic',
  ]);
  expect(JSON.stringify(faultsAsSeen(faults, (id) => id === 'zwei'))).not.toContain('uno');
});

describe('a running daemon keeps a name with its tenant', () => {
  function running(files: Record<string, string>) {
    const dir = writeConfiguration(files);
    const read = new ConfigurationFiles({
      ...{ dir, env: ENV, connectors: CONNECTORS, reminderChannels: CHANNELS, mode: 'set-aside' },
    });
    const write = (name: string, content: string) => writeFileSync(join(dir, name), content);
    const again = () => atOnce(read.readAgain(atOnce(read.readStamps())));
    return { dir, write, again };
  }

  test('against a file that claims the name as a former name', () => {
    const { write, again } = running({});
    write('tenants/zwei.yaml', tenant('8', 'uno'));
    const { tenants, unusable, refused } = again();
    expect([[...tenants.keys()], unusable.map(({ id }) => id), refused]).toEqual([['uno'], ['zwei'], []]);
  });

  test('against a running tenant that newly claims the name: that tenant keeps running unchanged', () => {
    const { write, again } = running({ 'tenants/zwei.yaml': tenant('8') });
    write('tenants/zwei.yaml', tenant('8', 'uno'));
    const { outlines, refused } = again();
    expect(outlines.get('zwei')?.formerly).toBeNull();
    expect(refused).toMatchObject([{ tenant: 'zwei', faults: [{ path: 'formerly' }] }]);
  });

  test('against a new file of that name, after a rename', () => {
    const { write, again, dir } = running({});
    rmSync(join(dir, 'tenants/uno.yaml'));
    write('tenants/zwei.yaml', tenant('7', 'uno'));
    expect([...again().tenants.keys()]).toEqual(['zwei']);
    write('tenants/uno.yaml', tenant('9'));
    const { tenants, unusable } = again();
    expect([...tenants.keys()]).toEqual(['zwei']);
    expect(unusable).toMatchObject([
      { id: 'uno', faults: [{ message: expect.stringContaining('zwei previously had this name') }] },
    ]);
  });
});

describe('a target’s former name', () => {
  const target = (id: string, calendar: string, formerly: string) =>
    `  ${id}: { connector: calendar, connection: work, agendas: all, formerly: ${formerly}, settings: { calendar: ${calendar} } }\n`;
  const faults = (more: string) => faultLines(writeConfiguration({ 'tenants/uno.yaml': TENANT + more })).join('\n');

  test('of another target is refused', () => {
    expect(faults(target('verdi', 'b', 'rossi'))).toMatch(
      /targets\.verdi\.formerly: the target rossi already exists → remove formerly/,
    );
    expect(faults(target('verdi', 'b', 'alt') + target('bianchi', 'c', 'alt'))).toMatch(
      /targets\.bianchi\.formerly: the target verdi previously had the same name/,
    );
  });

  test('of no existing target is accepted', () => {
    const dir = writeConfiguration({
      'tenants/uno.yaml': TENANT + target('verdi', 'b', 'alt') + target('bianchi', 'c', 'bianchi'),
    });
    expect(load(dir).tenants.get('uno')?.targets.size).toBe(3);
  });
});
