import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { heldObjects, pagesOf } from '../../../src/operator/control/target-objects.ts';
import { NEVER } from '../../tenant/cycle.ts';

const ENDED = AbortSignal.abort(new Error('the caller left'));
const failed = () => Promise.reject(new MirrorError('no', { actor: 'remote', code: 'no', retry: 'later' }));

describe('the objects of a target', () => {
  /** What a target holds for records that have links. @param find answers for item keys, which are the record ids behind `k-` */
  async function held(
    recordIds: readonly string[],
    find: (keys: string[]) => Promise<{ key: string; item: object | null }[]>,
    { linked = recordIds, container = 'c1' as string | null, signal = NEVER } = {},
  ) {
    const asked: string[][] = [];
    const tenant = {
      links: { readSome: async () => new Map(linked.map((id) => [id, { idAttempt: 0 }])) },
      targetStore: { read: async () => ({ container }) },
    };
    const target = {
      id: 'doctor',
      identity: { key: (id: string) => `k-${id}` },
      connector: {
        find: async (_: string, keys: string[]) => {
          asked.push(keys);
          return find(keys);
        },
      },
    };
    const objectOf = await heldObjects(tenant as never, target as never, recordIds, signal);
    return { asked, found: recordIds.map(objectOf) };
  }

  test('are its items, null for a missing one, and unread for an unreadable one', async () => {
    const item = { title: 'x' };
    const find = async () => [
      { key: 'k-a', item },
      { key: 'k-b', item: null },
      { key: 'k-foreign', item },
    ];
    expect((await held(['a', 'b', 'c'], find)).found).toEqual([item, 'unread', null]);
  });

  test('are null for records without a link, without a request', async () => {
    const { asked, found } = await held(['a', 'b'], async () => [], { linked: ['b'] });
    expect([asked, found]).toEqual([[['k-b']], [null, null]]);
    expect((await held(['a'], failed, { linked: [] })).asked).toEqual([]);
  });

  test('are requested for the first hundred, and unread after that', async () => {
    const ids = Array.from({ length: 101 }, (_, index) => `r${index}`);
    const { asked, found } = await held(ids, async () => []);
    expect(asked.map((keys) => keys.length)).toEqual([100]);
    expect(found).toEqual([...Array.from({ length: 100 }, () => null), 'unread']);
  });

  test('are unread without a calendar, or if the target is unreachable', async () => {
    expect((await held(['a'], failed, { container: null })).found).toEqual(['unread']);
    expect((await held(['a'], failed)).found).toEqual(['unread']);
    await expect(held(['a'], failed, { signal: ENDED })).rejects.toThrow('the caller left');
  });
});

describe('the pages of objects', () => {
  const pages = async (container: string, ids: readonly string[]) =>
    new Map(ids.map((id) => [id, `${container}/${id}`]));
  const ask = (of: unknown, container: string | null, ids: readonly string[], signal = NEVER) =>
    pagesOf({ connector: { pagesOf: of } } as never, container, ids, signal);

  test('are requested once each', async () => {
    expect(await ask(pages, 'c1', ['a', 'a'])).toEqual(new Map([['a', 'c1/a']]));
  });

  test('are empty without a calendar, objects or vendor pages, and after a failure', async () => {
    expect((await ask(pages, null, ['a'])).size).toBe(0);
    expect((await ask(failed, 'c1', [])).size).toBe(0);
    expect((await ask(undefined, 'c1', ['a'])).size).toBe(0);
    expect((await ask(failed, 'c1', ['a'])).size).toBe(0);
  });

  test('do not hide a defect of the program, or a cancelled request', async () => {
    await expect(ask(() => Promise.reject(new TypeError('defect')), 'c1', ['a'])).rejects.toThrow('defect');
    await expect(ask(failed, 'c1', ['a'], ENDED)).rejects.toThrow('the caller left');
  });
});
