import { expect, test } from 'vitest';
import { MemorySource, NO_FAULTS } from '../../../src/engine/memory/source.ts';
import { START as NOW, recordOf, STREAM } from './world.ts';

const NEVER = new AbortController().signal;
const request = { targets: [], restored: [], isLookOnly: false, justRead: false, progress: () => {} };

async function readOf(source: MemorySource, reach: 'whole' | 'near' = 'whole') {
  const readings = await source.open(null);
  return readings.read({ ...request, reach }, NEVER);
}

function open() {
  const source = new MemorySource(() => NOW, [STREAM, 'timeless'], { hasParts: true });
  for (const [id, inHours] of [
    ['a', 1],
    ['b', 200],
    ['far', 9_000],
  ] as const)
    source.stream(STREAM).records.set(id, recordOf(id, { inHours }));
  source.stream('timeless').records.set('t', { id: 't', title: 'always' });
  return source;
}

test('a reading lists the records of its window, and records without a time', async () => {
  const source = open();
  const ids = (list: Awaited<ReturnType<typeof readOf>>, name = STREAM) => [...(list.listing(name)?.recordIds() ?? [])];
  expect(ids(await readOf(source))).toEqual(['a', 'b']);
  expect(ids(await readOf(source, 'near'))).toEqual(['a']);
  expect(ids(await readOf(source), 'timeless')).toEqual(['t']);
  expect((await source.open(NOW)).mayBePart).toBe(true);
  expect(() => source.stream('none')).toThrow(RangeError);
});

test('faults change what a reading and single reads say', async () => {
  const source = open();
  const stream = source.stream(STREAM);
  stream.faults = { ...NO_FAULTS, endsAfter: 1, failingAlone: new Set(['b']) };
  const partial = await readOf(source);
  expect([partial.completeness, partial.listing(STREAM)?.count]).toEqual(['partial', 1]);
  await expect(source.readAlone(STREAM, 'b')).rejects.toMatchObject({ code: 'unavailable' });
  stream.faults = { ...NO_FAULTS, hidden: new Set(['a']) };
  expect((await readOf(source)).listing(STREAM)?.isListed('a')).toBe(false);
  expect(await source.readAlone(STREAM, 'a')).toMatchObject({ found: { id: 'a' } });
  stream.faults = { ...NO_FAULTS, foreign: new Map() };
  expect(await source.readAlone(STREAM, 'a')).toEqual({ absent: true });
  stream.faults = { ...NO_FAULTS, unread: 'forbidden' };
  expect((await readOf(source)).listing(STREAM)).toBeNull();
});

test('records in memory are discarded until the next reading', async () => {
  const source = open();
  source.invalidate();
  expect(source.isInvalidated()).toBe(true);
  await readOf(source);
  expect(source.isInvalidated()).toBe(false);
});
