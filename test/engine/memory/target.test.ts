import { expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { itemAt } from '../../../src/engine/memory/items.ts';
import { MemoryTarget } from '../../../src/engine/memory/target.ts';
import { START as NOW } from './world.ts';

const ITEM = itemAt('title', { startAt: NOW, endAt: NOW + 1 });

const create = (recordId: string, revision = 1) => ({
  ...{ kind: 'create' as const, recordId, key: recordId, sealedRecordId: '', item: ITEM, revision },
});
const remove = (recordId: string, revision = 2) => ({
  kind: 'delete' as const,
  recordId,
  key: recordId,
  revision,
  versionTag: null,
  remoteId: null,
});

async function apply(target: MemoryTarget, ...operations: Parameters<MemoryTarget['apply']>[1][number][]) {
  return (await target.apply('', operations)).map((one) => ('effect' in one ? one.effect : one.result));
}

async function read(target: MemoryTarget) {
  const pages: string[][] = [];
  for await (const page of target.read('', null)) pages.push(page.map(({ key }) => key));
  return pages.flat();
}

test('objects are created, found, adopted, changed and removed once', async () => {
  const target = new MemoryTarget();
  expect([await target.prepare(null, { creates: false }), await target.prepare(null, { creates: true })]).toEqual([
    null,
    'container-1',
  ]);
  expect(await apply(target, create('a'), create('a'), remove('b'))).toEqual(['created', 'adopted', 'already-gone']);
  expect(await apply(target, create('a', 0))).toEqual(['superseded']);
  expect(await apply(target, { ...create('a'), kind: 'update', versionTag: null, remoteId: null })).toEqual([
    'updated',
  ]);
  expect([await read(target), (await target.find('', ['a', 'b'])).length]).toEqual([['a'], 1]);
  expect(await apply(target, remove('a'))).toEqual(['deleted']);
});

test('users edit and remove objects', async () => {
  const target = new MemoryTarget();
  await apply(target, create('a'), create('b'));
  target.edit('a', 'other');
  target.edit('c', 'other');
  target.remove('b');
  expect([...target.objects.values()]).toMatchObject([{ key: 'a', item: { title: 'other' }, version: 2 }]);
  target.replaceContainer();
  expect([await target.prepare('container-1', { creates: true }), target.objects.size]).toEqual(['container-1', 0]);
});

test('faults lose answers, refuse writes, or fail every call', async () => {
  const target = new MemoryTarget();
  target.faults.lost.add('a');
  const error = new MirrorError('x', { actor: 'remote', code: 'x', retry: 'later' });
  target.faults.refused.set('b', error);
  expect(await apply(target, create('a'), create('b'))).toEqual(['failed', 'failed']);
  expect(await apply(target, create('a'))).toEqual(['adopted']);
  target.faults.failing = error;
  await expect(target.find('', [])).rejects.toMatchObject({ code: 'x' });
});
