import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLossWorld, LIMITS, type LossWorld } from '../../bench/guard/loss.ts';
import { CYCLE_MS, PATTERNS } from '../../bench/guard/patterns.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { createHoldStore } from '../../src/state/holds.ts';
import { createSealer } from '../../src/state/sealing.ts';
import { createTargetStore } from '../../src/state/targets.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const SEALING_KEYS = [{ id: 'k1', key: Buffer.alloc(32, 9) }];

const redis = useRedis();

async function openWorld(size: number, missedForMs = 0): Promise<LossWorld> {
  const connection = redis.connect();
  await connection.flushall();
  let seed = size + 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const tenant = {
    holds: createHoldStore(connection, 'clinic', createSealer(SEALING_KEYS, 'clinic')),
    log: silentLogger,
    random,
    missedForMs,
    elapsedBetween: () => Infinity,
  };
  const world = createLossWorld({
    tenant,
    records: createTargetStore(connection, 'clinic', createSealer(SEALING_KEYS, 'clinic')),
  });
  for (let index = 0; index < size; index += 1) world.add(`${index}`);
  return world;
}

/** The most that a target may lose to absence in seven days in which it held so many records. */
function boundOf(held: number): number {
  const half = Math.max(2, Math.ceil(held / 2) - 1);
  return Math.min(half, Math.max(LIMITS.vanished.count, Math.floor(held * LIMITS.vanished.share)));
}

/** What happens between two cycles. */
interface Turn {
  afterHours: number;
  /** Records that are absent from now on, by number. */
  lost: number[];
  /** Whether those that were absent so far are back. */
  isBack: boolean;
  booked: number;
  /** How many of the oldest leave the window. */
  passed: number;
}

const turns: fc.Arbitrary<Turn> = fc.record({
  afterHours: fc.oneof(fc.double({ min: 0.01, max: 1, noNaN: true }), fc.integer({ min: 1, max: 40 })),
  lost: fc.oneof(fc.array(fc.nat(80), { maxLength: 4 }), fc.array(fc.nat(80), { maxLength: 40 })),
  isBack: fc.boolean(),
  booked: fc.oneof(fc.constant(0), fc.nat(6)),
  passed: fc.oneof(fc.constant(0), fc.nat(6)),
});

test('under any schedule of absences, over days, a target loses no more than the bound in any seven days', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(60), fc.array(turns, { minLength: 1, maxLength: 30 }), async (size, schedule) => {
      const world = await openWorld(size);
      let now = NOW;
      let booked = size;
      let absent = new Set<string>();
      // Times at which the target gained and lost each record.
      const [held, lost]: number[][] = [[], []];
      for (const turn of schedule) {
        now += turn.afterHours * HOUR_MS;
        if (turn.isBack) absent = new Set();
        for (const index of turn.lost) absent.add(`${index}`);
        for (let more = 0; more < turn.booked; more += 1) world.add(`${booked++}`);
        const passing = [...world.links].slice(0, turn.passed);
        await world.release(passing, now);
        for (let cycles = 0; cycles < 2; cycles += 1) {
          const before = world.deleted;
          await world.cycle((id) => absent.has(id), now);
          for (let one = before; one < world.deleted; one += 1) lost?.push(now);
        }
        for (const _ of passing) held?.push(now);
        const since = (times: number[] | undefined) => (times ?? []).filter((at) => at > now - 7 * DAY_MS).length;
        // By the hour: what is counted may be up to an hour older.
        const counted = (held ?? []).concat(lost ?? []).filter((at) => at > now - 7 * DAY_MS - HOUR_MS).length;
        const atMost = boundOf(world.links.size + counted);
        if (world.deleted > 0 && lost?.at(-1) === now) expect(since(lost)).toBeLessThanOrEqual(atMost);
      }
    }),
    { numRuns: 60 },
  );
});

describe.each([8, 40, 200, 2_000])('of %i records', (size) => {
  test.each(Object.keys(PATTERNS))('losing %s, no more than the bound is deleted before a hold', async (pattern) => {
    const world = await openWorld(size, CYCLE_MS / 2);
    const lose = PATTERNS[pattern]?.(size, NOW, Math.random);
    if (lose === undefined) throw new Error('an unknown pattern');
    // Hours in which nothing changes are passed over.
    const stepMs = pattern === 'one an hour' ? HOUR_MS / 2 : CYCLE_MS;
    for (let now = NOW; now < NOW + 3 * DAY_MS; now += stepMs) if (await world.cycle(lose(now), now)) break;
    expect(world.deleted).toBeLessThanOrEqual(boundOf(size));
    if (pattern === 'all at once') expect(world.deleted).toBe(0);
  });
});

test('normal work of a clinic causes no holds: a cleared day of one doctor, and a few vanished records a day, pass', async () => {
  // 300 ahead, 30 a day; each day 30 pass and 30 are booked, four are deleted; on the third day a doctor's fifteen.
  const world = await openWorld(300);
  let now = NOW;
  let booked = 300;
  const gone = new Set<string>();
  for (let day = 0; day < 21; day += 1) {
    now += DAY_MS;
    await world.release([...world.links].slice(0, 30), now);
    for (let more = 0; more < 30 + (day === 4 ? 15 : 0) + 4; more += 1) world.add(`${booked++}`);
    for (const id of [...world.links].slice(100, 104 + (day === 3 ? 15 : 0))) gone.add(id);
    expect(await world.cycle((id) => gone.has(id), now)).toBe(false);
    expect(await world.cycle((id) => gone.has(id), now + CYCLE_MS)).toBe(false);
  }
  expect(world.deleted).toBe(21 * 4 + 15);
  // And in a calendar that shows but two days: of 16, two or three go each day.
  const small = await openWorld(16);
  for (let day = 0; day < 14; day += 1) {
    now += DAY_MS;
    await small.release([...small.links].slice(0, 8), now);
    for (let more = 0; more < 10; more += 1) small.add(`${booked++}`);
    for (const id of [...small.links].slice(5, 7)) gone.add(id);
    expect(await small.cycle((id) => gone.has(id), now)).toBe(false);
    expect(await small.cycle((id) => gone.has(id), now + CYCLE_MS)).toBe(false);
  }
  expect(small.deleted).toBe(28);
});
