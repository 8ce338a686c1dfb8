import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { TRIGGERS_LEASE } from '../../../src/features/triggers/job.ts';
import { useRedis } from '../../support/redis.ts';
import { createTriggerWorld, SECRET, told, usePortal } from './trigger-world.ts';

const redis = useRedis();
const BOTH = ['report.available', 'invoice.issued'];
const portal = usePortal(redis);
const { worldWith, begin, add, bill, ids, answer, waiting } = portal;

test('a fetch of the lists runs after the current one, however often waiting messages are sent', async () => {
  await begin();
  add('r1');
  const underWay = await portal.world.open().leases.tryTake(TRIGGERS_LEASE);
  expect(await portal.world.turn()).toBe(false);
  await underWay?.release();
  expect(await portal.world.retry()).toBe(false);
  expect(await portal.world.turn()).toBe(true);
  expect(ids()).toEqual(['r1']);
  expect(await portal.world.retry()).toBe(true);
});

describe('a message', () => {
  test('contains only ids, is signed, and carries the time at which the document was found', async () => {
    await begin();
    add('r1');
    bill('i1');
    portal.world.now += MINUTE_MS;
    await portal.world.turn();
    expect(told(portal.receiver)).toEqual([
      {
        type: 'report.available',
        timestamp: '2026-11-30T10:01:00.000Z',
        data: { tenant: 'studio-rossi', reportId: 'r1', patientId: 'patient-of-r1', episodeId: 'episode-1' },
      },
      {
        type: 'invoice.issued',
        timestamp: '2026-11-30T10:01:00.000Z',
        data: { tenant: 'studio-rossi', invoiceId: 'i1', patientId: 'patient-of-i1' },
      },
    ]);
    const [first] = portal.receiver.taken;
    expect(first?.headers['webhook-id']).toMatch(/^[0-9a-v]{32}$/);
  });

  test.each([
    ['standardwebhooks', StandardWebhook],
    ['svix', SvixWebhook],
  ])('is verified by %s', async (_, Verifier) => {
    await begin();
    portal.world.now = Date.now();
    add('r1');
    await portal.world.turn();
    const { body, headers } = portal.receiver.taken[0]!;
    const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    expect(() => new Verifier(SECRET).verify(body, plain)).not.toThrow();
    expect(() => new Verifier(SECRET).verify(body.replace('r1', 'r2'), plain)).toThrow();
  });

  test('is sent once, however often and by whichever process the lists are read', async () => {
    await begin();
    add('r1');
    for (let count = 0; count < 4; count += 1) await portal.world.turn();
    add('r1', { status: 'Signed' });
    await portal.world.turn();
    expect(ids()).toEqual(['r1']);
  });

  test('goes to each endpoint of the event, with a different id each', async () => {
    portal.world = createTriggerWorld(redis.connect(), {
      portal: { url: `${portal.receiver.url}/portal`, events: ['report.available'] },
      ledger: { url: `${portal.receiver.url}/ledger`, events: BOTH },
    });
    await begin();
    add('r1');
    bill('i1');
    await portal.world.turn();
    expect(ids().sort()).toEqual(['i1', 'r1', 'r1']);
    expect(new Set(portal.receiver.taken.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
  });
});

describe('a document of the first list', () => {
  test('is never reported, also when it changes; a draft that becomes final later is', async () => {
    add('draft', { status: 'Draft' });
    bill('paid-later');
    await begin();
    add('draft', { status: 'Final' });
    bill('paid-later', { status: 'Paid' });
    await portal.world.turn();
    expect(ids()).toEqual(['draft']);
  });

  test('is counted if it can not be used, since its state is unknown', async () => {
    add('odd');
    portal.world.documents.unusable.add('odd');
    await begin();
    portal.world.documents.unusable.clear();
    await portal.world.turn();
    expect(ids()).toEqual([]);
  });

  test('is not taken from a partial list: the event waits for a complete one and reports this', async () => {
    portal.world.documents.partial = true;
    add('r1');
    await portal.world.turn();
    const place = { endpoint: 'portal', event: 'report.available' } as const;
    expect(await portal.world.open().triggers!.store.reading(place)).toMatchObject({
      sinceAt: null,
      off: { code: 'first-list-partial' },
    });
    portal.world.documents.partial = false;
    await portal.world.turn();
    add('r2');
    await portal.world.turn();
    expect(ids()).toEqual(['r2']);
  });

  test('is treated as reported again after the loss of all state, and the same names are given later', async () => {
    await begin();
    add('r1');
    await portal.world.turn();
    await redis.connect().flushall();
    add('r2');
    await portal.world.turn();
    add('r3');
    await portal.world.turn();
    expect(ids()).toEqual(['r1', 'r3']);
  });

  test('is determined again for an event that was removed from the file and added again', async () => {
    await begin();
    await worldWith({}, ['invoice.issued']).turn();
    add('meanwhile');
    await portal.world.turn();
    add('r1');
    await portal.world.turn();
    expect(ids()).toEqual(['r1']);
  });
});

describe('a document', () => {
  test('that is withdrawn before its message was accepted is not reported; when it returns it is', async () => {
    await begin();
    answer(503);
    add('r1');
    await portal.world.turn();
    add('r1', { status: 'Replaced' });
    await portal.world.advance(HOUR_MS);
    expect(ids()).toEqual([]);
    expect(await waiting()).toEqual([]);
    add('r1');
    await portal.world.turn();
    expect(ids()).toEqual(['r1']);
  });

  test('of a forgotten patient is not reported, also not later', async () => {
    await begin();
    const tenant = portal.world.open();
    await tenant.tombstones.add('patient-of-r1', portal.world.now);
    add('r1');
    await portal.world.turn();
    await tenant.tombstones.remove('patient-of-r1');
    await portal.world.turn();
    expect(ids()).toEqual([]);
  });

  test('is in no value of Redis in clear while its message waits', async () => {
    await begin();
    answer(503);
    add('report-4711');
    await portal.world.turn();
    expect(await waiting()).toHaveLength(1);
    const connection = redis.connect();
    for (const key of await connection.keys('cm:*')) {
      const type = await connection.type(key);
      const value =
        type === 'hash'
          ? await connection.hgetall(key)
          : type === 'zset'
            ? await connection.zrange(key, '0', '-1')
            : type === 'set'
              ? await connection.smembers(key)
              : await connection.get(key);
      expect(`${key} ${JSON.stringify(value)}`).not.toMatch(/4711|patient-of/);
    }
  });
});

test('what waits and can not be opened any more is found again, under the same id', async () => {
  await begin();
  portal.receiver.kit.faults.add({ times: 1, fault: { kind: 'lost-answer' } });
  add('r1');
  await portal.world.turn();
  await portal.world.turn(portal.world.open({ sealingKey: 'k2' }));
  await portal.world.advance(HOUR_MS);
  const rekeyed = () => portal.world.turn(portal.world.open({ sealingKey: 'k2' }));
  portal.world.now += HOUR_MS;
  await rekeyed();
  const headers = portal.receiver.taken.map((each) => each.headers['webhook-id']);
  expect(headers).toHaveLength(2);
  expect(new Set(headers).size).toBe(1);
});

test('two replicas at once send each message once', async () => {
  await begin();
  for (let count = 0; count < 20; count += 1) add(`r${count}`);
  const done = await Promise.all([1, 2, 3].map(() => portal.world.turn(portal.world.open({ redis: redis.connect() }))));
  expect(done.filter((was) => was)).toHaveLength(1);
  await portal.world.turn();
  expect(ids()).toHaveLength(20);
  expect(new Set(ids()).size).toBe(20);
});
