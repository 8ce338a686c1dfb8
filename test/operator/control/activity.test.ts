import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AuditEntry } from '../../../src/core/model/acts.ts';
import type { AuditLogFilter } from '../../../src/operator/control/activity.ts';
import { type ActivityLine, readActivity } from '../../../src/operator/control/activity.ts';
import type { AuditLog } from '../../../src/operator/control/audit-log.ts';
import { cursorOf } from '../../../src/operator/control/paging.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { openActing, person } from './acting.ts';

const EVERYTHING = { tenant: null, verb: null, sinceAt: null, record: null };

/** Returns an in-memory log of the given records, oldest first. @param looked called for each record that is read */
function logOf(entries: readonly AuditEntry[], looked = (_: number) => {}): AuditLog {
  return {
    ...(openActing().actServices.log as AuditLog),
    async *readBack(before) {
      for (const entry of entries.toReversed()) {
        const { chain, sequence } = entry;
        const isBefore =
          before === null || chain < before.chain || (chain === before.chain && sequence < before.sequence);
        if (!isBefore) continue;
        looked(sequence);
        yield { chain, sequence, line: '', entry };
      }
    },
  };
}

function entryOf(sequence: number, changes: Partial<AuditEntry> = {}): AuditEntry {
  return {
    ...{ chain: '0001-abc', sequence, at: new Date(NOW + sequence).toISOString(), previous: null },
    ...{ verb: 'sync', tenant: 'rossi', who: person('anna'), what: {}, why: null, code: null },
    ...{ outcome: 'begun', act: null },
    ...changes,
  };
}

async function readAll(
  entries: readonly AuditEntry[],
  limit: number,
  sees = (_: string | null) => true,
  filter: AuditLogFilter = EVERYTHING,
) {
  const { actServices: desk } = openActing({ log: logOf(entries) });
  const lines: ActivityLine[] = [];
  const sizes: number[] = [];
  let after: string | null = null;
  do {
    const page = await readActivity(desk, { after, limit, sees, filter });
    lines.push(...page.lines);
    sizes.push(page.lines.length);
    after = page.next;
  } while (after !== null);
  return { lines, sizes };
}

test('an action is shown once, with its end if it ended, newest first, on pages of any size', async () => {
  const acts = fc.array(fc.record({ ends: fc.boolean(), among: fc.integer({ min: 0, max: 3 }) }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(acts, fc.integer({ min: 1, max: 5 }), async (wanted, limit) => {
      const entries: AuditEntry[] = [];
      const open: { act: number; among: number }[] = [];
      const end = () => {
        for (const each of open) each.among -= 1;
        for (const each of open.filter(({ among }) => among < 0)) {
          open.splice(open.indexOf(each), 1);
          entries.push(entryOf(entries.length + 1, { outcome: 'done', act: each.act }));
        }
      };
      for (const { ends, among } of wanted) {
        entries.push(entryOf(entries.length + 1));
        if (ends) open.push({ act: entries.length, among });
        end();
      }
      while (open.length > 0) end();
      const ended = new Set(entries.flatMap(({ act }) => act ?? []));
      const expected = entries.filter(({ sequence }) => !ended.has(sequence)).map(({ sequence }) => sequence);
      const { lines, sizes } = await readAll(entries, limit);
      expect(lines.map(({ sequence }) => sequence)).toEqual(expected.reverse());
      expect(sizes.every((size) => size <= limit)).toBe(true);
    }),
  );
});

test('a user with access to some clinics sees only their actions', async () => {
  const entries = [entryOf(1), entryOf(2, { tenant: 'bianchi' }), entryOf(3, { tenant: null })];
  const { lines } = await readAll(entries, 10, (tenant) => tenant === 'rossi');
  expect(lines.map(({ sequence }) => sequence)).toEqual([1]);
});

test('numbers of one chain are unrelated to those of another chain', async () => {
  const entries = [
    entryOf(1),
    entryOf(1, { chain: '0002-def' }),
    entryOf(2, { chain: '0002-def', act: 1, outcome: 'done' }),
  ];
  const { lines } = await readAll(entries, 10);
  expect(lines.map(({ chain, sequence }) => [chain, sequence])).toEqual([
    ['0002-def', 2],
    ['0001-abc', 1],
  ]);
});

test('an invalid position in the log is refused', async () => {
  const { actServices: desk } = openActing({ log: logOf([]) });
  for (const place of ['../../etc/passwd', '0001-abc.1.x', '0001-abc', { chain: '0001-abc', sequence: 1 }, null]) {
    const question = { after: cursorOf(place), limit: 1, sees: () => true, filter: EVERYTHING };
    await expect(readActivity(desk, question)).rejects.toMatchObject({ code: 'cursor-unusable' });
  }
});

test('a filtered log shows only the requested actions, each with its end, on pages of any size', async () => {
  const { actServices: desk } = openActing();
  const record = desk.keyed('rossi', 'apt-1');
  const entries = [
    entryOf(1),
    entryOf(2, { verb: 'audit', what: { records: `other ${record}` } }),
    entryOf(3, { outcome: 'done', act: 1 }),
    entryOf(4, { tenant: 'bianchi' }),
  ];
  const filters: [Partial<AuditLogFilter>, number[]][] = [
    [{ tenant: 'rossi' }, [3, 2]],
    [{ verb: 'sync' }, [4, 3]],
    [{ sinceAt: NOW + 3 }, [4, 3]],
    [{ tenant: 'rossi', record: 'apt-1' }, [2]],
  ];
  for (const [filter, expected] of filters) {
    const { lines } = await readAll(entries, 1, () => true, { ...EVERYTHING, ...filter });
    expect(lines.map(({ sequence }) => sequence)).toEqual(expected);
  }
  await expect(readAll(entries, 1, () => true, { ...EVERYTHING, record: 'apt-1' })).rejects.toMatchObject({
    code: 'record-needs-tenant',
  });
});

test('a page reads only the shown part of a long log, and a limited part if nothing matches', async () => {
  const entries = Array.from({ length: 7_000 }, (_, at) => entryOf(at + 1));
  let looked = 0;
  const count = () => {
    looked += 1;
  };
  const { actServices: desk } = openActing({ log: logOf(entries, count) });
  const question = { after: null, limit: 5, sees: () => true, filter: EVERYTHING };
  expect((await readActivity(desk, question)).lines).toHaveLength(5);
  expect(looked).toBe(6);
  looked = 0;
  const none = await readActivity(desk, { ...question, filter: { ...EVERYTHING, verb: 'forget' } });
  expect(none.lines).toEqual([]);
  expect(none.next).not.toBeNull();
  expect(looked).toBe(3_001);
});

test('without an audit log no activity is reported', async () => {
  const { actServices: desk } = openActing({ log: null });
  const question = { after: null, limit: 1, sees: () => true, filter: EVERYTHING };
  await expect(readActivity(desk, question)).rejects.toMatchObject({ code: 'no-audit-log' });
});
