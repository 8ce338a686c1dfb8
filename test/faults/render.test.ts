import { expect, test } from 'vitest';
import { areExact, type CrmResults, faultsOf, sumOfCrms } from './crm/crms.ts';
import type { CrmTotals, Tally } from './crm/judge.ts';
import type { KillResult } from './kills.ts';
import { moments } from './moments.ts';
import { type FaultResult, renderFaults } from './render.ts';

function tally(more: Partial<Tally> = {}): Tally {
  return { records: 7, remoteRecords: 7, duplicates: 0, missing: 0, wrong: 0, ...more };
}

function results(hubspot: Partial<CrmTotals> = {}): CrmResults {
  const right = () => ({ contacts: tally(), activities: tally(), strangers: { records: 5, changed: 0 } });
  return { hubspot: { ...right(), ...hubspot }, salesforce: right() };
}

function rendered(crm: CrmResults): string {
  const kind = { targets: 2, records: 9, remoteEvents: 9, duplicates: 0, missing: 0, extraCalendars: 0 };
  const kills = {
    runs: 3,
    seed: 1,
    diedIn: { pull: 1, plan: 1, push: 1, after: 0 },
    aimedAt: {},
    totals: { 'google-calendar': kind, 'outlook-calendar': kind, caldav: kind },
    crm,
    recoverySeconds: { median: 4, longest: 5 },
    exactRuns: 3,
    wrong: [],
    ok: areExact(crm),
  } satisfies KillResult;
  const result: FaultResult = { kills, flush: null, stop: null, creates: null, seconds: 60, ok: kills.ok };
  return renderFaults(result);
}

test.each<[string, Partial<CrmTotals>]>([
  ['hubspot contacts: 1 duplicates, 0 missing, 0 wrong', { contacts: tally({ duplicates: 1 }) }],
  ['hubspot contacts: 0 duplicates, 1 missing, 0 wrong', { contacts: tally({ missing: 1 }) }],
  ['hubspot activities: 0 duplicates, 0 missing, 1 wrong', { activities: tally({ wrong: 1 }) }],
  ['hubspot: 1 records of strangers changed', { strangers: { records: 5, changed: 1 } }],
])('one fault in any run is told, and the result is no longer as it should be: %s', (words, fault) => {
  const summed = sumOfCrms([results(), results(fault), results()]);
  expect(faultsOf(summed)).toEqual([words]);
  const text = rendered(summed);
  expect(text).toContain('NOT as it should be');
  expect(text.split('\n').filter((line) => line.includes('WRONG') && line.includes('HubSpot'))).toHaveLength(1);
});

test('runs without a fault are as they should be, and what was read back is told', () => {
  const summed = sumOfCrms([results(), results()]);
  expect(faultsOf(summed)).toEqual([]);
  const text = rendered(summed);
  expect(text).toContain('All as it should be');
  expect(text).toMatch(/3 × SIGKILL +HubSpot +14, 0, 0, 0 +14, 0, 0, 0 +5, 0 changed +ok/);
  expect(text).not.toContain('WRONG');
});

test('the moments of a seed are always the same, each kind comes in turn, and each place has its turn in time', () => {
  const places = [{ usual: 2 }, { usual: 20 }, { usual: 1 }];
  const first = (seed: number) => {
    const chosen = moments(seed, places);
    return Array.from({ length: 60 }, () => chosen.next().value);
  };
  expect(first(3)).toEqual(first(3));
  expect(first(3)).not.toEqual(first(4));
  expect(new Set(first(3).map((moment) => moment?.at))).toEqual(new Set(['write', 'pull', 'plan', 'time']));
  const writes = first(3).flatMap((moment) => (moment?.at === 'write' ? [moment] : []));
  expect(new Set(writes.map(({ place }) => place))).toEqual(new Set([0, 1, 2]));
  expect(new Set(writes.map(({ side }) => side))).toEqual(new Set(['sent', 'done']));
  expect(writes.every(({ place, skip }) => skip < (places[place]?.usual ?? 0))).toBe(true);
});
