import { describe, expect, test } from 'vitest';
import { MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { areInSync, book, type Clinic, HOST, openOutageWorld } from '../tenant/world.ts';

const redis = useRedis({ appendOnly: false });

describe('the log of an outage of five clinics', () => {
  test.each(['whole', 'each'] as const)('has a line when it begins, lasts and is over (%s)', async (how) => {
    const world = openOutageWorld(redis, how, 5);
    await world.runUntil(() => false, MINUTE_MS);
    world.isOut.vendor = true;
    book(world);
    world.lines.length = 0;
    await world.runUntil(() => false, 20 * MINUTE_MS);
    const told = world.lines.filter(([message]) => message !== 'cycle planned changes');
    expect(told).toEqual([
      ['server is unreachable: work waits until the server answers', { host: HOST, code: 'server-error' }],
      ['server is still unreachable', { host: HOST, code: 'server-error', minutes: 15 }],
    ]);
    world.isOut.vendor = false;
    world.lines.length = 0;
    await world.runUntil(() => areInSync(world), 20 * MINUTE_MS);
    expect(world.lines.filter(([message]) => message !== 'daemon wrote to a target')).toEqual([
      ['server is reachable again', { host: HOST, code: 'server-error', tenants: 5, minutes: expect.closeTo(20, -1) }],
    ]);
  });

  test('has the same lines where the clinics themselves are away', async () => {
    const world = openOutageWorld(redis, 'whole', 5);
    world.isOut.clinic = true;
    await world.runUntil(() => false, 20 * MINUTE_MS);
    expect(world.lines.map(([message]) => message)).toEqual([
      'server is unreachable: work waits until the server answers',
      'server is still unreachable',
    ]);
  });

  test('has no line for each of the failures of a server that fails now and then', async () => {
    const world = openOutageWorld(redis, 'whole', 1);
    const [{ outages }] = world.clinics as [Clinic];
    const work = { tenant: 'clinic-0', target: 'doctor' };
    for (let failures = 0; failures < 20; failures += 1) {
      await outages.wait(HOST, work, { code: 'timeout' });
      world.clock.now += 6 * SECOND_MS;
      await outages.end(HOST);
    }
    expect(world.lines.map(([message]) => message)).toEqual([
      'server is unreachable: work waits until the server answers',
      'server is reachable again',
    ]);
  });
});
