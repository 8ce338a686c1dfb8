// Tier: full. Opens a world for each command at which a worker can die.
import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { remind } from '../../../src/features/reminders/job.ts';
import { useRedis } from '../../support/redis.ts';
import { crashingRedis } from '../../tenant/crashing-redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { book, createReminderWorld } from './reminder-world.ts';
import { endClaims } from './worker-deaths.ts';

const redis = useRedis({ appendOnly: false });
const GROUPED = { rules: { 'day-before': { before: 'P1D', channels: ['text'], group: 'recipient' } } };

test('a worker that dies at any command tells no visit twice, and all visits of one message have one state', async () => {
  const connection = redis.connect();
  for (let commandsLeft = 0; commandsLeft < 60; commandsLeft += 1) {
    await connection.flushall();
    const made = createReminderWorld(connection, { file: GROUPED });
    book(made, 'one', 48);
    book(made, 'two', 48.5);
    await made.cycle();
    await made.advance(24 * HOUR_MS - 1);
    made.now += 1;
    const id = (await made.entries()).find(({ appointmentId }) => appointmentId === 'one')?.id ?? '';
    await remind(made.open(crashingRedis(connection, commandsLeft, true)), id, { stop: NEVER, abort: NEVER }).catch(
      () => {},
    );
    const states = (await made.entries()).map(({ state }) => state);
    if (states.includes('sending') || states.includes('sent')) expect(new Set(states).size).toBe(1);
    await endClaims(connection);
    await made.cycle();
    await made.advance(3 * HOUR_MS);
    const isLost = (await made.entries()).some(({ state }) => state === 'unknown');
    expect(made.gateway.delivered.length).toBeLessThanOrEqual(isLost ? 1 : 2);
    const told = made.gateway.delivered.flatMap(({ content }) => content.text.match(/10:[03]0/g) ?? []);
    expect(new Set(told).size).toBe(told.length);
  }
});

test('a worker that dies during a message leaves no visit of it in delivery after the life of its claim', async () => {
  const connection = redis.connect();
  const made = createReminderWorld(connection, { file: GROUPED });
  book(made, 'one', 48);
  book(made, 'two', 51);
  await made.cycle();
  const id = (await made.entries()).find(({ appointmentId }) => appointmentId === 'one')?.id ?? '';
  made.now += 24 * HOUR_MS;
  for (const [name, wake] of made.alarms.wakes) if (wake.id === id) made.alarms.wakes.delete(name);
  // A dead worker runs no further command.
  const isHandedOver = new Promise<void>((resolve) => {
    made.gateway.onSend = () => new Promise(() => resolve());
  });
  void remind(made.tenant, id, { stop: NEVER, abort: NEVER });
  await isHandedOver;
  expect(new Set((await made.entries()).map(({ state }) => state))).toEqual(new Set(['sending']));
  for (const entry of await made.entries()) await endClaims(connection, entry.id);
  await made.advance(2 * MINUTE_MS);
  expect(await made.fate('two')).toBe('unknown');
});
