import fc from 'fast-check';
import { expect } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { remind } from '../../../src/features/reminders/job.ts';
import { reminderKeys } from '../../../src/features/reminders/keys.ts';
import { keys } from '../../../src/state/keys.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import { type Tries, tryCases } from '../../support/tried.ts';
import { crashingRedis } from '../../tenant/crashing-redis.ts';
import { NEVER, pull } from '../../tenant/cycle.ts';
import { book, createReminderWorld, type ModelGateway, type ReminderWorld } from './reminder-world.ts';

export const SIGNALS = { stop: NEVER, abort: NEVER };

/** More commands than a check of a reminder, or a cycle over one appointment, sends. */
export const MOST_COMMANDS = 25;

const answers: fc.Arbitrary<ModelGateway['answers'][number]> = fc.oneof(
  fc.constant({ result: 'sent' as const, reference: 'r' }),
  fc.constant({ result: 'unknown' as const, code: 'no-answer' }),
  fc.constant({ result: 'later' as const, code: 'throttled', retryAfterMs: null }),
  fc.constant({ result: 'refused' as const, code: 'landline', optedOut: false, channelGone: false }),
  fc.constantFrom('accept-and-die' as const, 'die' as const),
);

/** A process that dies at some command while it plans or sends, or not at all. */
const deaths = fc.record({
  work: fc.constantFrom('cycle' as const, 'remind' as const),
  commandsLeft: fc.integer({ min: 0, max: MOST_COMMANDS }),
  lastIsCarriedOut: fc.boolean(),
  twice: fc.boolean(),
});

type Death = typeof deaths extends fc.Arbitrary<infer Value> ? Value : never;

/** Time passes until the claims of dead workers have ended. */
export async function endClaims(connection: RedisClient, id?: string): Promise<void> {
  if (id !== undefined) await connection.del(reminderKeys.reminderClaim('studio-rossi', id));
  await connection.del(keys.lease('studio-rossi', 'plan'));
}

/** Death by death; what a dead process threw is of no interest. */
async function play(world: ReminderWorld, connection: RedisClient, death: Death, id: string): Promise<void> {
  const { work, commandsLeft, lastIsCarriedOut, twice } = death;
  const dying = world.open(crashingRedis(connection, commandsLeft, lastIsCarriedOut));
  const doIt = (tenant: typeof dying) => (work === 'cycle' ? pull(tenant) : remind(tenant, id, SIGNALS));
  // A stalled job is run by a second worker while the first one is still at it.
  const both = twice ? [doIt(dying), doIt(world.open())] : [doIt(dying)];
  await Promise.allSettled(both);
  world.now += MINUTE_MS;
}

/** Gateways that workers hand reminders to. */
export const GATEWAYS = [
  ['a gateway that delivers each call', false],
  ['a receiver that knows a repeated id', true],
] as const;

/**
 * Checks that workers that die anywhere never hand a reminder over twice, and never leave one open.
 * @param connection one for all cases: thousands of connections would overload a busy host
 */
export async function tryWorkerDeaths(connection: RedisClient, deduplicates: boolean, tries: Tries): Promise<void> {
  await tryCases(
    'deaths of workers',
    fc.asyncProperty(
      fc.array(deaths, { minLength: 1, maxLength: 4 }),
      fc.array(answers, { maxLength: 5 }),
      async (played, given) => {
        await connection.flushall();
        const world = createReminderWorld(connection, { deduplicates });
        book(world, 'one', 48);
        await world.cycle();
        const id = (await world.entries())[0]?.id ?? '';
        world.gateway.answers.push(...given);
        world.now += DAY_MS;
        for (const death of played) {
          await play(world, connection, death, id);
          await endClaims(connection, id);
        }
        for (let cycles = 0; cycles < 3; cycles += 1) {
          await world.cycle();
          await world.advance(HOUR_MS);
          await endClaims(connection, id);
        }
        const [entry] = await world.entries();
        const got = world.gateway.delivered.length;
        expect(got).toBeLessThanOrEqual(1);
        if (!deduplicates) {
          // A call with an unknown outcome is never repeated.
          const last = world.gateway.calls.length;
          const before = given.slice(0, Math.max(0, last - 1));
          expect(before.every((one) => typeof one !== 'string' && one.result === 'later')).toBe(true);
        }
        expect(['sent', 'dropped', 'unknown']).toContain(entry?.state);
        if (got === 1) expect(['sent', 'unknown']).toContain(entry?.state);
        if (got === 0) expect(entry?.state).not.toBe('sent');
        expect(await world.tenant.reminders?.ledger.openCount()).toBe(0);
      },
    ),
    tries,
  );
}
