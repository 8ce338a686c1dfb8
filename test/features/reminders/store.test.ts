import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { remind } from '../../../src/features/reminders/job.ts';
import { reminderKeys } from '../../../src/features/reminders/keys.ts';
import { createReminderLedger } from '../../../src/features/reminders/store.ts';
import { createProofSealer } from '../../../src/state/sealing.ts';
import { useRedis } from '../../support/redis.ts';
import { crashingRedis } from '../../tenant/crashing-redis.ts';
import { pull } from '../../tenant/cycle.ts';
import { book, createReminderWorld } from './reminder-world.ts';
import { endClaims, GATEWAYS, MOST_COMMANDS, SIGNALS, tryWorkerDeaths } from './worker-deaths.ts';

const redis = useRedis({ appendOnly: false });
let connection: ReturnType<typeof redis.connect> | null = null;
/** One connection for all runs: thousands of connections would overload a busy host. */
const shared = () => {
  connection ??= redis.connect();
  return connection;
};

// More deaths of workers: worker-deaths.test.ts.
describe.each(GATEWAYS)('workers that die anywhere, before %s', (_, deduplicates) => {
  test('never hand a reminder over twice, and never leave one open', () =>
    tryWorkerDeaths(shared(), deduplicates, { least: 20, most: 20, forMs: 60_000 }));
});

test('a worker that dies at any command before it stores its intent costs only time', async () => {
  for (let commandsLeft = 0; commandsLeft < MOST_COMMANDS; commandsLeft += 1) {
    const connection = shared();
    await connection.flushall();
    const world = createReminderWorld(connection);
    book(world, 'one', 48);
    await world.cycle();
    const id = (await world.entries())[0]?.id ?? '';
    world.now += DAY_MS;
    const dying = world.open(crashingRedis(connection, commandsLeft, false));
    await remind(dying, id, SIGNALS).catch(() => {});
    const [noted] = await world.entries();
    await endClaims(connection, id);
    await world.cycle();
    await world.advance(HOUR_MS);
    // From the stored note until it is durable, no other process can know that nothing was sent.
    const isNoted = noted?.state === 'sending';
    if (isNoted) expect(await world.fate()).toBe('unknown');
    else expect(world.gateway.delivered).toHaveLength(1);
    expect(world.gateway.delivered.length).toBeLessThanOrEqual(1);
  }
});

test('a cycle that dies at any command leaves the plan to the next one', async () => {
  for (let commandsLeft = 0; commandsLeft < MOST_COMMANDS; commandsLeft += 1) {
    for (const lastIsCarriedOut of [false, true]) {
      const connection = shared();
      await connection.flushall();
      const world = createReminderWorld(connection);
      book(world, 'one', 48);
      book(world, 'two', 49);
      await world.cycle();
      book(world, 'one', 50);
      world.clinic.appointments.delete('two');
      await pull(world.open(crashingRedis(connection, commandsLeft, lastIsCarriedOut))).catch(() => {});
      await endClaims(connection);
      await world.cycle();
      await world.advance(3 * DAY_MS);
      expect(world.gateway.delivered.map(({ appointment }) => appointment.id)).toEqual(['one']);
      expect(await world.fate('two')).toBe('dropped vanished');
    }
  }
});

test('a delivery report that another program wrote is not shown', async () => {
  const connection = shared();
  const sealer = createProofSealer(Buffer.alloc(32, 7), 'foreign');
  const ledger = createReminderLedger(connection, 'foreign', { retentionMs: HOUR_MS, sealer });
  const foreign = { state: '<b>', code: 'Call +39 06 1, https://evil.example', at: 'now' };
  await connection.set(reminderKeys.reminderReport('foreign', 'r1'), JSON.stringify(foreign));
  expect(await ledger.reports(['r1'])).toEqual(new Map());
});
