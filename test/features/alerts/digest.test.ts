import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Problem } from '../../../src/core/model/problems.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import {
  type AlertMemory,
  awaitsEnd,
  CHECK_END_MS,
  type Digest,
  NOTHING_REPORTED,
  nextDigest,
} from '../../../src/features/alerts/digest.ts';
import { message } from '../../../src/messages/message.ts';
import { NOW } from '../../domain/arbitraries.ts';

const LOOK_MS = 5 * MINUTE_MS;

function problemOf(tenant: string, changes: Partial<Problem> = {}): Problem {
  const ended = {
    code: 'login-ended',
    sentence: 'the connection has expired',
    next: `clinic-mirror login ${tenant} doctor-1`,
  };
  return {
    tenant,
    subject: 'connection doctor-1',
    health: 'action-required',
    sinceAt: NOW,
    breaksAt: null,
    nextTryAt: null,
    syncHealth: null,
    waiting: 3,
    ...ended,
    texts: {
      subject: message('subject.login', { id: 'doctor-1' }),
      sentence: message('login-ended'),
      next: ended.next,
    },
    ...changes,
  };
}

const OUTAGE_AFTER_MS = 15 * MINUTE_MS;

/** Returns the sent reports, with a check every five minutes and a working channel. */
function watch(
  untilMs: number,
  problemsAt: (sinceMs: number) => readonly Problem[],
): { afterMs: number; digest: Digest }[] {
  let memory: AlertMemory = NOTHING_REPORTED;
  const told: { afterMs: number; digest: Digest }[] = [];
  for (let afterMs = 0; afterMs <= untilMs; afterMs += LOOK_MS) {
    const next = nextDigest(memory, problemsAt(afterMs), NOW + afterMs, OUTAGE_AFTER_MS);
    memory = next.sent;
    if (next.digest !== null) told.push({ afterMs, digest: next.digest });
  }
  return told;
}

const tenantsOf = (problems: readonly Problem[]) => problems.map(({ tenant }) => tenant);

describe('a problem that requires action', () => {
  test('is reported when it lasts, on days 3, 7 and 14, and never again', () => {
    const told = watch(40 * DAY_MS, () => [problemOf('aurora')]);
    expect(told.map(({ afterMs }) => Math.floor(afterMs / DAY_MS) + 1)).toEqual([1, 3, 7, 14]);
    expect(told.map(({ digest }) => [digest.begun.length, digest.again.length])).toEqual([
      [1, 0],
      [0, 1],
      [0, 1],
      [0, 1],
    ]);
  });

  test('is reported as over once, if it was reported before', () => {
    const told = watch(3 * DAY_MS, (afterMs) => (afterMs < 2 * HOUR_MS ? [problemOf('aurora')] : []));
    expect(told.map(({ digest }) => [tenantsOf(digest.begun), tenantsOf(digest.over)])).toEqual([
      [['aurora'], []],
      [[], ['aurora']],
    ]);
  });

  test('is reported as over within a minute of its end, with its begin, although a message was just sent', () => {
    const endMs = 10 * MINUTE_MS + 1_000;
    const problem = problemOf('aurora', { sinceAt: NOW - HOUR_MS });
    let memory: AlertMemory = NOTHING_REPORTED;
    const told: [number, Digest][] = [];
    for (let afterMs = 0; afterMs <= DAY_MS / 24; afterMs += CHECK_END_MS) {
      const next = nextDigest(memory, afterMs < endMs ? [problem] : [], NOW + afterMs, OUTAGE_AFTER_MS);
      memory = next.sent;
      if (next.digest !== null) told.push([afterMs, next.digest]);
      expect(awaitsEnd(memory)).toBe(told.length === 1);
    }
    expect(told).toHaveLength(2);
    const [, [overMs, over]] = told as [(typeof told)[number], (typeof told)[number]];
    expect(overMs - endMs).toBeLessThanOrEqual(MINUTE_MS);
    expect(over).toMatchObject({ begun: [], over: [{ tenant: 'aurora', sinceAt: NOW - HOUR_MS }] });
  });

  test('is not reported if it has passed by the next check', () => {
    expect(watch(DAY_MS, (afterMs) => (afterMs === 0 ? [problemOf('aurora')] : []))).toEqual([]);
  });

  test('is neither over nor reported again when it is absent from one check', () => {
    const told = watch(DAY_MS, (afterMs) => (afterMs === HOUR_MS ? [] : [problemOf('aurora')]));
    expect(told).toHaveLength(1);
  });

  test('is the same matter however its figures change', () => {
    const told = watch(DAY_MS, (afterMs) => [problemOf('aurora', { waiting: afterMs, sentence: `${afterMs} wait` })]);
    expect(told).toHaveLength(1);
  });

  test('of many clinics is one message; problems that begin within the hour are in another', () => {
    const many = Array.from({ length: 50 }, (_, index) => problemOf(`clinic-${index}`));
    const told = watch(DAY_MS, (afterMs) => (afterMs < 20 * MINUTE_MS ? many.slice(0, 30) : many));
    expect(told.map(({ digest }) => [digest.begun.length, digest.others])).toEqual([
      [30, 0],
      [20, 30],
    ]);
    expect(told[1]!.afterMs - told[0]!.afterMs).toBe(HOUR_MS);
  });
});

test('that is retried automatically is reported only after a day', () => {
  const throttled = problemOf('corallo', { health: 'retrying', code: 'throttled' });
  expect(watch(20 * HOUR_MS, () => [throttled])).toEqual([]);
  expect(watch(2 * DAY_MS, () => [throttled]).map(({ digest }) => tenantsOf(digest.begun))).toEqual([['corallo']]);
});

test('that could not be reported is in the message of the next check, with the problems that began meanwhile', () => {
  let memory: AlertMemory = NOTHING_REPORTED;
  for (const [afterMs, tenants] of [
    [0, ['aurora']],
    [LOOK_MS, ['aurora', 'belvedere']],
  ] as const) {
    memory = nextDigest(
      memory,
      tenants.map((tenant) => problemOf(tenant)),
      NOW + afterMs,
      OUTAGE_AFTER_MS,
    ).untold;
  }
  const { digest } = nextDigest(
    memory,
    [problemOf('aurora'), problemOf('belvedere')],
    NOW + 2 * LOOK_MS,
    OUTAGE_AFTER_MS,
  );
  expect(tenantsOf(digest?.begun ?? [])).toEqual(['aurora', 'belvedere']);
});

/** The open problems of three at each check. */
const histories = fc.array(fc.subarray(['aurora', 'belvedere', 'corallo']), { minLength: 1, maxLength: 300 });

test('for all histories: at most one message about new problems an hour, no end of an unreported problem, and no problem reported twice as new', () => {
  fc.assert(
    fc.property(histories, (history) => {
      const told = watch((history.length - 1) * LOOK_MS, (afterMs) =>
        history[afterMs / LOOK_MS]!.map((tenant) => problemOf(tenant)),
      );
      const open = new Set<string | null>();
      let lastMs = Number.NEGATIVE_INFINITY;
      for (const { afterMs, digest } of told) {
        if (digest.begun.length + digest.again.length > 0) {
          expect(afterMs - lastMs).toBeGreaterThanOrEqual(HOUR_MS);
          lastMs = afterMs;
        }
        for (const tenant of tenantsOf(digest.over)) expect(open.delete(tenant)).toBe(true);
        for (const tenant of tenantsOf(digest.begun)) {
          expect(open.has(tenant)).toBe(false);
          open.add(tenant);
        }
      }
    }),
  );
});

test('for all histories: a problem that lasts an hour and two checks is reported', () => {
  fc.assert(
    fc.property(histories, (history) => {
      const steady = Array.from({ length: 14 }, () => ['aurora']);
      const all = [...history, ...steady];
      const told = watch((all.length - 1) * LOOK_MS, (afterMs) =>
        all[afterMs / LOOK_MS]!.map((tenant) => problemOf(tenant)),
      );
      const standing = told.flatMap(({ digest }) => [
        ...tenantsOf(digest.begun).map((tenant) => [tenant, true] as const),
        ...tenantsOf(digest.over).map((tenant) => [tenant, false] as const),
      ]);
      expect(standing.filter(([tenant]) => tenant === 'aurora').at(-1)?.[1]).toBe(true);
    }),
  );
});
