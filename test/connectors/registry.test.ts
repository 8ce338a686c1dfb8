import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';

const ROOM = join(import.meta.dirname, '../../src/connectors');
const FILES = ['index.ts', 'connector.ts', 'schemas.ts', 'errors.ts', 'README.md'];

const folders = readdirSync(ROOM, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();

describe('the registry of connectors', () => {
  test('lists exactly the folders on disk', () => {
    expect([...connectors.keys()].sort()).toEqual(folders);
  });

  test.each(folders)('%s has the files that every connector has', (folder) => {
    expect(FILES.filter((file) => !existsSync(join(ROOM, folder, file)))).toEqual([]);
  });

  test.each(folders)('%s exports one thing, its module', async (folder) => {
    const exported: unknown[] = Object.values(await import(join(ROOM, folder, 'index.ts')));
    expect(exported).toEqual([connectors.get(folder)]);
  });

  test.each(folders)('%s has a contract test', (folder) => {
    const file = join(import.meta.dirname, '../contract', `${folder}.test.ts`);
    expect(readFileSync(file, 'utf8')).toMatch(new RegExp(`describe(?:(?:Crm)?Connector|Contacts)\\(\\s*'${folder}'`));
  });

  test.each([...connectors.values()])(
    '$name documents in its README how it ensures one object per key',
    ({ name, supports }) => {
      const promise =
        supports.keys === 'enforced' ? /enforces keys|Keys are enforced/ : /Keys are looked up|looks keys up/;
      expect(readFileSync(join(ROOM, name, 'README.md'), 'utf8')).toMatch(promise);
    },
  );

  test.each([...connectors.values()])('$name refuses unknown settings', (module) => {
    expect(module.settingsSchema.safeParse({ noSuchSetting: 1 }).success).toBe(false);
  });

  test.each([...connectors.values()])('$name states limits that callers can use', ({ supports, connectionKinds }) => {
    expect(supports.batchSize).toBeGreaterThanOrEqual(1);
    expect(supports.concurrency).toBeGreaterThanOrEqual(1);
    expect(supports.operations.length).toBeGreaterThan(0);
    expect(connectionKinds.length).toBeGreaterThan(0);
  });
});
