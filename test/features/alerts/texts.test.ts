import { describe, expect, test } from 'vitest';
import { needsPerson, type Problem } from '../../../src/core/model/problems.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import type { Digest } from '../../../src/features/alerts/digest.ts';
import { payloadOf, textOf } from '../../../src/features/alerts/texts.ts';
import { message } from '../../../src/messages/message.ts';
import { NOW } from '../../domain/arbitraries.ts';

const NOTHING: Digest = { begun: [], again: [], over: [], others: 0 };

function problemOf(tenant: string | null, changes: Partial<Problem> = {}): Problem {
  const subject = message('subject.login', { id: 'doctor-1' });
  const next = 'clinic-mirror login';
  const problem = needsPerson({ tenant, subject, code: 'login-ended', sentence: message('login-ended'), next });
  return { ...problem, ...changes };
}

const subjectOf = (digest: Partial<Digest>) => textOf({ ...NOTHING, ...digest }, NOW, 'en').subject;
const lineOf = (changes: Partial<Problem>, part: 'begun' | 'over' = 'begun') =>
  textOf({ ...NOTHING, [part]: [problemOf('aurora', changes)] }, NOW, 'en').text.split('\n\n')[1];

describe('the subject of a digest', () => {
  test('names one problem, and counts several and their clinics', () => {
    expect(subjectOf({ begun: [problemOf('aurora')] })).toBe('clinic-mirror: aurora, connection doctor-1: login-ended');
    expect(subjectOf({ begun: [problemOf('aurora')], again: [problemOf('aurora')] })).toContain(
      '2 problems of 1 clinic',
    );
    expect(subjectOf({ begun: [problemOf('aurora'), problemOf('bora')] })).toContain('2 problems of 2 clinics');
    expect(subjectOf({ begun: [problemOf(null), problemOf(null)] })).toMatch(/: 2 problems$/);
  });

  test('says that a problem is over only in a digest that contains nothing but ends', () => {
    const over = [problemOf('aurora')];
    expect(subjectOf({ over })).toBe('clinic-mirror: resolved: aurora, connection doctor-1: login-ended');
    expect(subjectOf({ over, again: over })).not.toContain('resolved');
  });
});

describe('a line of a digest', () => {
  test.each([
    ['less than an hour', HOUR_MS - 1],
    ['1 hour', HOUR_MS],
    ['47 hours', 48 * HOUR_MS - 1],
    ['2 days', 2 * DAY_MS],
  ])('says for how long it is so: %s', (words, ageMs) => {
    expect(lineOf({ sinceAt: NOW - ageMs })).toContain(`for ${words}`);
  });

  test('names only times in the future', () => {
    expect(lineOf({ breaksAt: NOW + 3 * DAY_MS })).toContain(', in 3 days');
    expect(lineOf({ breaksAt: NOW })).not.toMatch(/, in /);
    expect(lineOf({ nextTryAt: NOW + MINUTE_MS + 1 })).toContain('next try in 2 min');
    expect(lineOf({ nextTryAt: NOW })).not.toContain('next try');
    expect(lineOf({ waiting: 1 })).toContain('1 pending change');
    expect(lineOf({ waiting: 0 })).not.toContain('pending');
  });

  test('gives the next step of an open problem, and only the past state of one that is over', () => {
    const changes = { sinceAt: NOW - DAY_MS, breaksAt: NOW + DAY_MS, nextTryAt: NOW + HOUR_MS, waiting: 3 };
    expect(lineOf(changes)).toContain('\n  clinic-mirror login');
    expect(lineOf(changes, 'over')).toMatch(/^aurora, connection doctor-1: .* \(login-ended\), after 24 hours$/);
    expect(lineOf({ sinceAt: NOW - 125_000 }, 'over')).toMatch(/, after 3 min$/);
  });

  test('names at most 40 of the clinics that share a problem', () => {
    const clinics = Array.from({ length: 42 }, (_, at) => ({ tenant: `c${at}`, waiting: 0 }));
    const line = lineOf({ tenants: clinics });
    expect(line).toMatch(/42 affected clinics \(c0, .*c39, and 2 more\)/);
    expect(lineOf({ tenants: clinics.slice(0, 1) })).toContain('1 affected clinic (c0)');
  });
});

test('a digest names 40 problems of each kind and counts the others and the unchanged ones', () => {
  const { text } = textOf({ ...NOTHING, begun: Array(43).fill(problemOf('aurora')), others: 2 }, NOW, 'en');
  expect(text.split('(login-ended)')).toHaveLength(41);
  expect(text).toContain('and 3 more');
  expect(text).toContain('2 other reported problems are unchanged.');
  expect(text.trimEnd()).toMatch(/clinic-mirror status --problems$/);
});

test('a digest for an API has 20 problems of each kind with all counts, and no texts', () => {
  const clinics = Array.from({ length: 42 }, (_, at) => ({ tenant: `c${at}`, waiting: 0 }));
  const many = [problemOf(null, { tenants: clinics }), ...Array(24).fill(problemOf('aurora'))];
  const { data, timestamp } = payloadOf({ ...NOTHING, begun: many, others: 3 }, NOW);
  expect([timestamp, data.begun.count, data.begun.problems.length]).toEqual([new Date(NOW).toISOString(), 25, 20]);
  expect(data.begun.problems[0]).toMatchObject({ tenants: { length: 40 }, tenantCount: 42 });
  expect(data).toMatchObject({ over: { count: 0, problems: [] }, others: 3 });
  expect(JSON.stringify(data)).not.toContain('"texts"');
});
