import { expect, test } from 'vitest';
import { needsPerson, type Problem } from '../../../src/core/model/problems.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../../../src/core/model/time.ts';
import { watchEnds } from '../../../src/operator/control/ended-problems.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { tenantOf } from './status-of.ts';

function problemOf(tenant: string | null, changes: Partial<Problem> = {}): Problem {
  const { code = 'calendar-gone' } = changes;
  return { ...needsPerson({ tenant, subject: 'target room', code, sentence: 'it is gone', next: null }), ...changes };
}

/** Watches the problems of two clinics. @returns the ends, each with code and times in minutes from the start */
function watch() {
  const endsOf = watchEnds();
  const minutesOf = (at: Instant) => (at - NOW) / MINUTE_MS;
  return (minute: number, problems: readonly Problem[], { paused = false } = {}) => {
    const tenants = ['aurora', 'corallo'].map((tenant) => tenantOf({ tenant, paused }));
    const ended = endsOf({ at: NOW + minute * MINUTE_MS, problems: [...problems], tenants });
    return ended.map(({ code, sinceAt, endedAt }) => [code, minutesOf(sinceAt), minutesOf(endedAt)]);
  };
}

test('an end is known for an hour, with the begin of the problem, or when it was first seen', () => {
  const at = watch();
  const known = problemOf('aurora', { sinceAt: NOW - 30 * MINUTE_MS });
  const unknown = problemOf(null, { code: 'redis-full' });
  expect(at(0, [known, unknown])).toEqual([]);
  expect(at(5, [unknown])).toEqual([['calendar-gone', -30, 5]]);
  const both = [
    ['redis-full', 0, 6],
    ['calendar-gone', -30, 5],
  ];
  expect(at(6, [])).toEqual(both);
  expect(at(64, [])).toEqual(both);
  expect(at(65, [])).toEqual([['redis-full', 0, 6]]);
  expect(at(HOUR_MS / MINUTE_MS + 6, [])).toEqual([]);
});

test('a problem that returned is not over, and its last end replaces the first one', () => {
  const at = watch();
  const problem = problemOf('aurora', { sinceAt: NOW });
  at(0, [problem]);
  expect(at(1, [])).toEqual([['calendar-gone', 0, 1]]);
  expect(at(2, [{ ...problem, sinceAt: NOW + MINUTE_MS, waiting: 7 }])).toEqual([]);
  expect(at(3, [])).toEqual([['calendar-gone', 1, 3]]);
});

test.each<[string, Problem, readonly Problem[], { paused?: boolean }]>([
  ['another problem of the same target', problemOf('aurora'), [problemOf('aurora', { code: 'refused' })], {}],
  [
    'a shared problem of its clinic',
    problemOf('aurora'),
    [{ ...problemOf(null, { subject: 'state', code: 'state-lost' }), tenants: [{ tenant: 'aurora', waiting: 0 }] }],
    {},
  ],
  ['the pause of its clinic', problemOf('aurora'), [], { paused: true }],
  ['the removal of its clinic', problemOf('removed'), [], {}],
])('a problem is not over that was replaced by %s', (_, before, after, state) => {
  const at = watch();
  at(0, [before]);
  expect(at(1, after, state)).toEqual([]);
  expect(at(2, after)).toEqual([]);
});

test('a problem that lasts hides no end of another problem of its subject', () => {
  const at = watch();
  const lasting = { ...problemOf(null, { code: 'clock-differs' }), tenants: [{ tenant: 'aurora', waiting: 0 }] };
  at(0, [lasting, { ...lasting, ...problemOf(null, { code: 'redis-full' }) }, problemOf('aurora')]);
  expect(at(1, [lasting]).map(([code]) => code)).toEqual(['redis-full', 'calendar-gone']);
});

test('an end at an unknown time is not told, and only the newest ends are kept', () => {
  const at = watch();
  const many = Array.from({ length: 60 }, (_, index) => problemOf('aurora', { code: `code-${index}` }));
  at(0, many);
  expect(at(11, [])).toEqual([]);
  at(12, many);
  expect(at(13, []).length).toBe(50);
});
