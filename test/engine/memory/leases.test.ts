import { expect, test } from 'vitest';
import { MINUTE_MS, SECOND_MS } from '../../../src/core/model/time.ts';
import { MemoryLeases } from '../../../src/engine/memory/leases.ts';

function open() {
  const clock = { now: 0 };
  return { clock, leases: new MemoryLeases(() => clock.now) };
}

test('one holder at a time, whose late writes are refused', async () => {
  const { clock, leases } = open();
  const first = await leases.tryTake('plan');
  expect(await leases.tryTake('plan')).toBeNull();
  clock.now += MINUTE_MS;
  const second = await leases.tryTake('plan');
  expect([first?.token, second?.token]).toEqual(['1:memory', '2:memory']);
  expect(first?.signal.aborted).toBe(true);
  expect(() => first && leases.check(first)).toThrow(expect.objectContaining({ code: 'lease-lost' }));
  await first?.release();
  expect(second?.signal.aborted).toBe(false);
  await second?.release();
  expect(await leases.tryTake('plan')).not.toBeNull();
});

test('a protected write renews the lease', async () => {
  const { clock, leases } = open();
  const lease = await leases.tryTake('plan');
  for (let half = 0; half < 4; half += 1) {
    clock.now += MINUTE_MS / 2;
    if (lease !== null) leases.check(lease);
  }
  expect(lease?.signal.aborted).toBe(false);
});

test('work that comes again keeps its place for a while', async () => {
  const { clock, leases } = open();
  const held = await leases.tryTake('lane');
  expect(await leases.tryTake('lane', 'push')).toBeNull();
  await held?.release();
  expect(await leases.tryTake('lane')).toBeNull();
  const taken = await leases.tryTake('lane', 'push');
  expect(await leases.tryTake('lane', 'audit')).toBeNull();
  await taken?.release();
  clock.now += 10 * SECOND_MS;
  expect(await leases.tryTake('lane')).not.toBeNull();
});
