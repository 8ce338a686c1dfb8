import { describe, expect, test } from 'vitest';
import { findApart, KEY_OF_NOTHING, mayBeOfOneObject } from '../../src/connectors/find-apart.ts';
import { type Actor, MirrorError } from '../../src/core/model/errors.ts';
import type { ItemKey, RemoteItem } from '../../src/core/model/operations.ts';

const KEYS = Array.from({ length: 20 }, (_, index) => `key-${index}`);

function failure(actor: Actor, status?: number, retryAfterMs?: number): MirrorError {
  const more = { ...(status === undefined ? {} : { status }), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  return new MirrorError('failed', { actor, code: 'x', retry: 'later', ...more });
}

/** A vendor that fails at each request for one of these keys. */
function vendor(isDamaged: (key: ItemKey) => boolean, error = failure('remote', 500)) {
  const requests: (readonly ItemKey[])[] = [];
  const find = async (keys: readonly ItemKey[]): Promise<RemoteItem[]> => {
    requests.push(keys);
    if (keys.some(isDamaged)) throw error;
    return keys.map((key) => ({ key, sealedRecordId: 's', remoteId: `id of ${key}`, versionTag: null, item: null }));
  };
  return { find, requests };
}

describe('objects found by key', () => {
  test('are read in one request if none fails', async () => {
    const { find, requests } = vendor(() => false);
    expect(await findApart(find, KEYS)).toHaveLength(20);
    expect(requests).toEqual([KEYS]);
  });

  test.each([
    ['server failed', failure('remote', 500)],
    ['answer was unreadable', failure('contract')],
  ])('are unreadable, with their stored id, where the %s at them alone', async (_, error) => {
    const { find, requests } = vendor((key) => ['key-0', 'key-13'].includes(key), error);
    const found = await findApart(find, KEYS, new Map([['key-13', 'stored id']]));
    expect(found.map(({ key }) => key)).toEqual(KEYS);
    expect(found.filter(({ unreadable }) => unreadable === true).map(({ remoteId }) => remoteId)).toEqual([
      'key-0',
      'stored id',
    ]);
    expect(requests.length).toBeLessThan(KEYS.length);
  });

  test('alone is unreadable only if the server answers a request for no object', async () => {
    const answering = vendor((key) => key === 'key-0');
    expect(await findApart(answering.find, ['key-0'])).toMatchObject([{ unreadable: true }]);
    const failing = vendor(() => true);
    await expect(findApart(failing.find, ['key-0'])).rejects.toThrow('failed');
    expect(failing.requests).toEqual([['key-0'], [KEY_OF_NOTHING]]);
  });

  test('of which none is readable are a failing server', async () => {
    const { find, requests } = vendor((key) => key !== KEY_OF_NOTHING);
    await expect(findApart(find, KEYS)).rejects.toThrow('failed');
    expect(requests.length).toBeLessThan(KEYS.length);
  });

  test.each([
    ['a missing target', failure('settings', 404)],
    ['a refused login', failure('authorization', 401)],
    ['an overloaded server', failure('remote', 503)],
    ['a server that names a wait', failure('remote', 500, 1_000)],
    ['a broken connection', failure('remote')],
  ])('are not asked for one by one after %s', async (_, error) => {
    expect(mayBeOfOneObject(error)).toBe(false);
    const { find, requests } = vendor((key) => key === 'key-3', error);
    await expect(findApart(find, KEYS)).rejects.toBe(error);
    expect(requests).toHaveLength(1);
  });
});
