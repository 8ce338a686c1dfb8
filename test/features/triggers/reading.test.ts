import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { useRedis } from '../../support/redis.ts';
import { usePortal } from './trigger-world.ts';

const redis = useRedis();
const portal = usePortal(redis);
const { worldWith, begin, add, bill, ids, endpoint } = portal;

describe('a list', () => {
  test('that is partial brings its new documents, and reports no missing ones', async () => {
    await begin();
    portal.world.documents.partial = true;
    portal.world.documents.unlisted.add('old');
    add('r1');
    await portal.world.turn();
    portal.world.now += 100 * DAY_MS;
    await portal.world.turn();
    portal.world.now += 100 * DAY_MS;
    portal.world.documents.unlisted.clear();
    await portal.world.turn();
    expect(ids()).toEqual(['r1']);
  });

  test('that lies about what it lacks does not make old documents new', async () => {
    await begin();
    portal.world.documents.unlisted.add('old');
    await portal.world.turn();
    portal.world.now += 80 * DAY_MS;
    await portal.world.turn();
    portal.world.documents.unlisted.clear();
    await portal.world.turn();
    expect(ids()).toEqual([]);
  });

  test('that lacks a document for long lets its name be forgotten, so that what is kept is bounded', async () => {
    await begin();
    const known = () => portal.world.open().triggers!.store.stored({ endpoint: 'portal', event: 'report.available' });
    portal.world.documents.reports.delete('old');
    await portal.world.turn();
    expect((await known()).size).toBe(1);
    portal.world.now += 91 * DAY_MS;
    await portal.world.turn();
    expect((await known()).size).toBe(0);
  });

  test('with far more new documents than usual closes the endpoint until an operator decides', async () => {
    portal.world = worldWith({ mostAtOnce: 3 });
    await begin();
    for (let count = 0; count < 4; count += 1) add(`r${count}`);
    await portal.world.turn();
    await portal.world.turn();
    expect(ids()).toEqual([]);
    expect((await endpoint()).closed).toMatchObject({ code: 'too-many-at-once' });
  });

  test('that must not be read disables its event; the other continues', async () => {
    await begin();
    const denied = { actor: 'authorization', code: 'missing-claim', retry: 'never', remedy: 'log in again' } as const;
    portal.world.documents.errors.reports = new MirrorError('the connection lacks a scope', denied);
    bill('i1');
    add('r1');
    await portal.world.turn();
    expect(ids()).toEqual(['i1']);
    const { store } = portal.world.open().triggers!;
    expect((await store.reading({ endpoint: 'portal', event: 'report.available' })).off).toMatchObject({
      code: 'missing-claim',
      remedy: 'log in again',
    });
    expect((await store.reading({ endpoint: 'portal', event: 'invoice.issued' })).off).toBeNull();
    portal.world.documents.errors.reports = null;
    await portal.world.turn();
    expect(ids()).toEqual(['i1', 'r1']);
  });
});
