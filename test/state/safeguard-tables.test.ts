import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SAFEGUARD_TABLES } from '../../src/state/data-directory.ts';
import { keys } from '../../src/state/keys.ts';
import { entriesOf, FIRST_RECORD, openSafeguards } from '../../src/state/safeguard-tables.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis({ appendOnly: false });
const TENANT = 'rossi';
const NONE = { tombstones: {}, receipts: {}, optOuts: {} };

function open() {
  const connection = redis.connect();
  return { connection, tables: openSafeguards(connection, TENANT, Buffer.alloc(32, 7)) };
}

describe('the safeguard tables', () => {
  test('match their proof after any own changes, and not after a foreign change', async () => {
    const { connection, tables } = open();
    const change = fc.record({
      table: fc.constantFrom(...SAFEGUARD_TABLES),
      name: fc.constantFrom('a', 'b', 'c'),
      value: fc.constantFrom('1', '2', null),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
        await connection.flushall();
        const expected: Record<string, string> = {};
        let version = 0;
        for (const { table, name, value } of changes) {
          const id = `${table}/${name}`;
          const isChange = (expected[id] === undefined) !== (value === null);
          if (isChange) version += 1;
          expect(await tables.put({ table, name, value })).toBe(isChange ? version : null);
          if (isChange && value === null) delete expected[id];
          else if (isChange && value !== null) expected[id] = value;
        }
        const look = await tables.look(true);
        expect(look.isAsProved).toBe(true);
        const found = entriesOf(look.safeguards ?? NONE).map(({ table, name, value }) => [`${table}/${name}`, value]);
        expect(Object.fromEntries(found)).toEqual(expected);
        if (version === 0) return;
        await connection.hset(keys.receipts(TENANT), 'made-up', '1');
        expect((await tables.look(true)).isAsProved).toBe(false);
        expect((await tables.look(false)).isAsProved).toBe(false);
      }),
      { numRuns: 20 },
    );
  });

  test('that are only counted miss a changed value, which a check of each entry finds', async () => {
    const { connection, tables } = open();
    await tables.put({ table: 'optOuts', name: 'a', value: '1' });
    await connection.hset(keys.optOuts(TENANT), 'a', '2');
    expect(await tables.look(false)).toMatchObject({ isAsProved: true, safeguards: null });
    expect((await tables.look(true)).isAsProved).toBe(false);
    await tables.believe((record) => record ?? FIRST_RECORD);
    expect((await tables.look(true)).isAsProved).toBe(true);
  });

  test('have no record at first, and a forged one is replaced', async () => {
    const { connection, tables } = open();
    expect(await tables.look(true)).toEqual({ record: null, isAsProved: true, safeguards: NONE });
    await connection.hset(keys.protection(TENANT), 'proof', 'made up');
    expect((await tables.look(false)).record).toBe('damaged');
    await tables.record((before) => ({ ...(before ?? FIRST_RECORD), lostAt: NOW }));
    expect((await tables.look(false)).record).toMatchObject({ version: 1, lostAt: NOW });
    const other = openSafeguards(connection, TENANT, Buffer.alloc(32, 8));
    expect((await other.look(false)).record).toBe('damaged');
  });

  test('restore missing entries, and keep existing ones', async () => {
    const { connection, tables } = open();
    await connection.hset(keys.tombstones(TENANT), 'a', 'there');
    const copy = { ...NONE, tombstones: { a: 'copy', b: 'copy' }, optOuts: { c: 'copy' } };
    expect(await tables.putBack(copy)).toBe(2);
    expect((await tables.look(true)).safeguards).toEqual({ ...copy, tombstones: { a: 'there', b: 'copy' } });
  });
});
