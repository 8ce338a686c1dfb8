import { expect, test, vi } from 'vitest';
import { createLife } from '../../src/state/processes.ts';
import { useFakeTime } from '../support/fake-time.ts';

const BEATLESS_MS = 10_000;

function heardOf() {
  const time = useFakeTime();
  const life = createLife('first', BEATLESS_MS);
  life.wasHeard(performance.now());
  return { time, life };
}

test('a life ends a tenth before others may take over, though nobody looks', async () => {
  const { time, life } = heardOf();
  const { over } = life;
  await time.pass(8_999);
  expect(over.aborted).toBe(false);
  await time.pass(1);
  expect(over.aborted).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('a life that is heard of goes on, counted from when the beat was sent', async () => {
  const { time, life } = heardOf();
  for (let beat = 0; beat < 5; beat += 1) {
    const sentAt = performance.now();
    await time.pass(4_000);
    life.wasHeard(sentAt);
  }
  await time.pass(4_999);
  expect(life.over.aborted).toBe(false);
  await time.pass(1);
  expect(life.over.aborted).toBe(true);
});

test('an answer to an earlier beat that comes later shortens nothing', async () => {
  const { time, life } = heardOf();
  const first = performance.now();
  await time.pass(3_000);
  life.wasHeard(performance.now());
  life.wasHeard(first);
  await time.pass(8_999);
  expect(life.over.aborted).toBe(false);
});

test('a process that stood still sees before any of its timers rings that its life is over', () => {
  const { time, life } = heardOf();
  const before = life.over;
  time.jump(8_999);
  expect(life.over.aborted).toBe(false);
  time.jump(1);
  expect(life.over.aborted).toBe(true);
  expect(before.aborted).toBe(true);
});

test('an answer that waited while the process stood still revives nothing', () => {
  const { time, life } = heardOf();
  const { over } = life;
  time.jump(9_000);
  life.wasHeard(performance.now());
  expect(over.aborted).toBe(true);
});

test('a life whose first beat was answered too late never was', () => {
  const time = useFakeTime();
  const life = createLife('first', BEATLESS_MS);
  const sentAt = performance.now();
  time.jump(9_000);
  life.wasHeard(sentAt);
  expect(life.over.aborted).toBe(true);
});
