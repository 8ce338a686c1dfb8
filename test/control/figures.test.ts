import { expect, test } from 'vitest';
import { createStateFigures } from '../../src/control/figures.ts';
import { openInstallation } from './open-installation.ts';

const LONGEST_WAIT_MS = 10;

/** An installation by a clock that is set by hand. */
function openAt(clock: { now: number }) {
  return { ...openInstallation({ tenants: [] }), clock: () => clock.now };
}

test('scrapes at the same time and within five seconds are answered from one computing', async () => {
  const clock = { now: 1_000_000 };
  const installation = openAt(clock);
  let computed = 0;
  const figures = createStateFigures(async () => {
    computed += 1;
  });
  expect(await Promise.all([figures.refresh(installation), figures.refresh(installation)])).toEqual([0, 0]);
  clock.now += 4_999;
  expect(await figures.refresh(installation)).toBe(4_999);
  expect(computed).toBe(1);
  clock.now += 1;
  expect(await figures.refresh(installation)).toBe(0);
  expect(computed).toBe(2);
});

test('a clock that was put back makes nothing count for longer', async () => {
  const clock = { now: 1_000_000 };
  let computed = 0;
  const figures = createStateFigures(async () => {
    computed += 1;
  });
  await figures.refresh(openAt(clock));
  clock.now -= 3_600_000;
  await figures.refresh(openAt(clock));
  expect(computed).toBe(2);
});

test('a scrape that would take too long gets what was computed before, with its age, and the next one what is ready by then', async () => {
  const clock = { now: 1_000_000 };
  const installation = openAt(clock);
  const ready = [Promise.resolve()];
  const figures = createStateFigures(() => ready.at(-1) ?? Promise.resolve(), LONGEST_WAIT_MS);
  await figures.refresh(installation);
  const slow = Promise.withResolvers<void>();
  ready.push(slow.promise);
  clock.now += 60_000;
  expect(await figures.refresh(installation)).toBe(60_000);
  slow.resolve();
  expect(await figures.refresh(installation)).toBe(0);
});

test('the first scrape waits however long it takes, and what fails is told to whoever waits and tried again', async () => {
  const installation = openAt({ now: 1_000_000 });
  const first = Promise.withResolvers<void>();
  const attempts = [first.promise, Promise.resolve()];
  const figures = createStateFigures(() => attempts.shift() ?? Promise.resolve(), LONGEST_WAIT_MS);
  const waiting = figures.refresh(installation);
  first.reject(new Error('Redis does not answer'));
  await expect(waiting).rejects.toThrow('Redis does not answer');
  expect(await figures.refresh(installation)).toBe(0);
  expect(attempts).toEqual([]);
});
