import { afterEach, beforeEach, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { useRedis } from '../../support/redis.ts';
import { crashingRedis } from '../../tenant/crashing-redis.ts';
import { type Receiver, startReceiver } from '../reminders/channels/receiver.ts';
import { booking, createTriggerWorld, invoice, report, type TriggerWorld, told } from './trigger-world.ts';

const redis = useRedis();
/** More commands than any of these turns takes. */
const MOST_COMMANDS = 120;
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

function createWorld(): TriggerWorld {
  receiver.taken.splice(0);
  const events = ['report.available', 'invoice.issued', 'appointment.booked'];
  const world = createTriggerWorld(redis.connect(), { portal: { url: receiver.url, events } });
  world.documents.reports.set('old', report('old'));
  world.documents.invoices.set('old', invoice('old'));
  world.documents.appointments.set('old', booking('old', world.now + DAY_MS));
  return world;
}

/** A process that dies after so many commands, and its leases with it. @returns whether it died */
async function crashAfter(world: TriggerWorld, commands: number, lastIsCarriedOut: boolean): Promise<boolean> {
  const dying = crashingRedis(redis.connect(), commands, lastIsCarriedOut);
  const died = await world.turn(world.open({ redis: dying })).then(
    () => false,
    () => true,
  );
  const connection = redis.connect();
  for (const key of await connection.keys('cm:{studio-rossi}:lease:*')) await connection.del(key);
  return died;
}

test.each([false, true])(
  'a process that dies anywhere loses no message and makes no second one (last command carried out: %s)',
  async (isCarriedOut) => {
    let repeated = 0;
    let survived = false;
    for (let commands = 0; !survived && commands < MOST_COMMANDS; commands += 1) {
      await redis.connect().flushall();
      const world = createWorld();
      await world.turn();
      world.documents.reports.set('r1', report('r1'));
      world.documents.invoices.set('i1', invoice('i1'));
      world.documents.appointments.set('a1', booking('a1', world.now + DAY_MS));
      survived = !(await crashAfter(world, commands, isCarriedOut));
      world.now += MINUTE_MS;
      await world.turn();
      await world.advance(HOUR_MS);
      const messages = new Map(receiver.taken.map(({ headers, body }) => [headers['webhook-id'], body]));
      expect([...messages.values()].map((body) => Object.values(JSON.parse(body).data)[1]).sort()).toEqual([
        'a1',
        'i1',
        'r1',
      ]);
      // The same id means the same message, to the byte.
      expect(new Set(receiver.taken.map(({ body }) => body)).size).toBe(3);
      repeated += receiver.taken.length - 3;
    }
    expect(survived).toBe(true);
    // A death between the answer and its note is among them, unless the note was the last thing done.
    expect(repeated > 0).toBe(!isCarriedOut);
  },
  60_000,
);

test('a process that dies during the first list causes no report of an old document', async () => {
  let survived = false;
  for (let commands = 0; !survived && commands < MOST_COMMANDS; commands += 1) {
    await redis.connect().flushall();
    const world = createWorld();
    survived = !(await crashAfter(world, commands, commands % 2 === 0));
    await world.turn();
    await world.turn();
    expect(told(receiver)).toEqual([]);
  }
  expect(survived).toBe(true);
});
