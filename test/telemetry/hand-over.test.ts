import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Handed, HandOver } from '../../src/telemetry/hand-over.ts';
import { useFakeTime } from '../support/fake-time.ts';

const TAKEN: Handed = { result: 'taken', refused: 0 };
const BUSY: Handed = { result: 'later', code: 'status-503', retryAfterMs: null };
const ROOM = 20;

const answer = fc.oneof(
  fc.constant(TAKEN),
  fc.constant<Handed>({ result: 'refused', code: 'status-400' }),
  fc.record({ result: fc.constant('later' as const), code: fc.constant('timeout'), retryAfterMs: fc.nat(200_000) }),
);
const step = fc.oneof(fc.record({ add: fc.nat(30) }), fc.record({ passMs: fc.nat(70_000) }), answer);

test('whatever a collector answers, all is sent in order, waits, or is counted as dropped, and no more waits than there is room', async () => {
  const time = useFakeTime();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const taken: number[] = [];
      let next: Handed = TAKEN;
      let [added, refused, under] = [0, 0, 0];
      const handOver = new HandOver<number>({
        ...{ room: ROOM, batch: 6, everyMs: 1_000, tell() {} },
        async send(items) {
          under += 1;
          expect([under, items.length > 0, items.length <= 6]).toEqual([1, true, true]);
          await Promise.resolve();
          under -= 1;
          if (next.result === 'taken') taken.push(...items);
          if (next.result === 'refused') refused += items.length;
          return next;
        },
      });
      const { counts } = handOver;
      for (const given of steps) {
        if ('add' in given) for (let left = given.add; left > 0; left -= 1) handOver.add(added++);
        else if ('passMs' in given) await time.pass(given.passMs);
        else next = given;
        expect(added - counts.sent - counts.dropped).toBeLessThanOrEqual(ROOM);
      }
      next = TAKEN;
      // Longer than the longest rest.
      await time.pass(61_000);
      await handOver.close(1_000);
      expect(taken).toEqual([...taken].sort((one, other) => one - other));
      expect(counts.sent).toBe(taken.length);
      expect(counts.sent + counts.dropped).toBe(added);
      expect(counts.dropped).toBeGreaterThanOrEqual(refused);
    }),
    { numRuns: 60 },
  );
});

test('it is said once that a collector takes nothing, and once that it does again', async () => {
  const time = useFakeTime();
  const told: (string | null)[] = [];
  let next: Handed = BUSY;
  const handOver = new HandOver<number>({ send: async () => next, tell: (code) => told.push(code), everyMs: 1_000 });
  for (const answered of [BUSY, BUSY, BUSY, TAKEN, TAKEN, BUSY]) {
    next = answered;
    handOver.add(1);
    await time.pass(61_000);
  }
  expect(told).toEqual(['status-503', null, 'status-503']);
});

test('what waits is sent at the end, and a collector that never answers puts the end off by the grace time alone', async () => {
  const time = useFakeTime();
  const prompt = new HandOver<number>({ send: async () => TAKEN, tell() {} });
  for (let count = 0; count < 600; count += 1) prompt.add(count);
  await prompt.close(1_000);
  expect(prompt.counts).toEqual({ sent: 600, dropped: 0 });

  const silent = new HandOver<number>({
    send: (_items, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({ ...BUSY, code: 'aborted' } as Handed))),
    tell() {},
  });
  silent.add(1);
  let isClosed = false;
  const closing = silent.close(500).then(() => {
    isClosed = true;
  });
  await time.pass(499);
  expect(isClosed).toBe(false);
  await time.pass(1);
  await closing;
  expect(silent.counts).toEqual({ sent: 0, dropped: 1 });
});
