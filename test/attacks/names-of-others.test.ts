import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { atOnce } from '../../src/model/pieces.ts';
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
 * Whose reminders, opt-outs, tombstones and entries something is is told by a name. A second file or target that says it had that name
 * before would share them.
 */

const tenant = (clinic: string, formerly?: string) =>
  TENANT.replace('tenantId: "7"', `tenantId: "${clinic}"`) + (formerly === undefined ? '' : `formerly: ${formerly}\n`);

describe('a name of before that is somebody’s', () => {
  test('by the name of their file is refused', () => {
    const dir = writeConfiguration({ 'tenants/zwei.yaml': tenant('8', 'uno') });
    expect(faultLines(dir)).toEqual([
      expect.stringMatching(
        /^tenants\/zwei\.yaml:14 formerly: the tenant uno already exists → remove formerly, or the other file/,
      ),
    ]);
  });

  test('by the name of their file is refused, whoever comes first in the alphabet', () => {
    const dir = writeConfiguration({ 'tenants/a.yaml': tenant('8', 'uno') });
    expect(faultLines(dir)).toEqual([
      expect.stringMatching(/^tenants\/a\.yaml:14 formerly: the tenant uno already exists/),
    ]);
    expect([...load(dir, { mode: 'set-aside' }).tenants.keys()]).toEqual(['uno']);
  });

  test('because they had it before is refused in the later file', () => {
    const dir = writeConfiguration({ 'tenants/a.yaml': tenant('8', 'alt'), 'tenants/b.yaml': tenant('9', 'alt') });
    expect(faultLines(dir)).toEqual([
      expect.stringMatching(/^tenants\/b\.yaml:14 formerly: the tenant a previously had the same name/),
    ]);
  });

  test('and is set aside is refused too: their state waits for them', () => {
    const dir = writeConfiguration({ 'tenants/uno.yaml': 'name: [', 'tenants/zwei.yaml': tenant('8', 'uno') });
    const { tenants, unusable } = load(dir, { mode: 'set-aside' });
    expect([...tenants.keys(), ...unusable.map(({ id }) => id)]).toEqual(['uno', 'zwei']);
  });

  test('and is nobody’s any more is taken, as is one’s own', () => {
    const dir = writeConfiguration({ 'tenants/uno.yaml': tenant('7', 'uno'), 'tenants/zwei.yaml': tenant('8', 'alt') });
    expect([...load(dir).tenants.keys()]).toEqual(['uno', 'zwei']);
  });
});

test('a fault tells whose a name or a clinic is to nobody who may not see that tenant', () => {
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

describe('while the daemon runs, who has a name keeps it', () => {
  function running(files: Record<string, string>) {
    const dir = writeConfiguration(files);
    const read = new ConfigurationFiles({
      ...{ dir, env: ENV, connectors: CONNECTORS, reminderChannels: CHANNELS, mode: 'set-aside' },
    });
    const write = (name: string, content: string) => writeFileSync(join(dir, name), content);
    const again = () => atOnce(read.readAgain(atOnce(read.readStamps())));
    return { dir, write, again };
  }

  test('against a file that says it had the name before', () => {
    const { write, again } = running({});
    write('tenants/zwei.yaml', tenant('8', 'uno'));
    const { tenants, unusable, refused } = again();
    expect([[...tenants.keys()], unusable.map(({ id }) => id), refused]).toEqual([['uno'], ['zwei'], []]);
  });

  test('against a running tenant that now says so: it goes on as it was', () => {
    const { write, again } = running({ 'tenants/zwei.yaml': tenant('8') });
    write('tenants/zwei.yaml', tenant('8', 'uno'));
    const { outlines, refused } = again();
    expect(outlines.get('zwei')?.formerly).toBeNull();
    expect(refused).toMatchObject([{ tenant: 'zwei', faults: [{ path: 'formerly' }] }]);
  });

  test('against a new file of that name, when it was given another one', () => {
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

describe('a target’s name of before', () => {
  const target = (id: string, calendar: string, formerly: string) =>
    `  ${id}: { connector: calendar, connection: work, agendas: all, formerly: ${formerly}, settings: { calendar: ${calendar} } }\n`;
  const faults = (more: string) => faultLines(writeConfiguration({ 'tenants/uno.yaml': TENANT + more })).join('\n');

  test('that is another target’s is refused', () => {
    expect(faults(target('verdi', 'b', 'rossi'))).toMatch(
      /targets\.verdi\.formerly: the target rossi already exists → remove formerly/,
    );
    expect(faults(target('verdi', 'b', 'alt') + target('bianchi', 'c', 'alt'))).toMatch(
      /targets\.bianchi\.formerly: the target verdi previously had the same name/,
    );
  });

  test('that is nobody’s any more is taken', () => {
    const dir = writeConfiguration({
      'tenants/uno.yaml': TENANT + target('verdi', 'b', 'alt') + target('bianchi', 'c', 'bianchi'),
    });
    expect(load(dir).tenants.get('uno')?.targets.size).toBe(3);
  });
});
