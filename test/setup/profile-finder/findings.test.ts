import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { byWeight, Comparison, type Finding, fitsAll, propose } from '../../../src/setup/profile-finder/findings.ts';
import { compared, DOCUMENTED, withAppointments } from './documents.ts';

const finding = (location: string, result: Finding['result'] = 'undecided'): Finding => ({
  ...{ area: 'fields', location, result, certainty: 'sure' },
  ...{ here: '–', there: '–', ask: 'what is it?' },
});
const START = ['appointments', 'fields', 'start'];

describe('findings', () => {
  test('that make rows wrong come first, and what is open before what is proposed', () => {
    const worst = finding('appointments.statuses', 'differs');
    const open = finding('appointments.fields.start');
    const others = ['paging', 'patients.fields.city', 'errors.missingClaim'].map((location) => finding(location));
    expect(byWeight([...others.toReversed(), worst, open])).toEqual([open, worst, ...others]);
  });

  test('leave a profile unfit if anything differs, or if it is open how rows are read', () => {
    expect(fitsAll([finding('scopePrefix', 'differs')])).toBe(false);
    expect(fitsAll([finding('appointments.fields.end')])).toBe(false);
    expect(fitsAll([finding('paging'), finding('errors.missingClaim'), finding('zone', 'absent')])).toBe(true);
  });
});

describe('a comparison', () => {
  test('proposes only found values that differ from the profile, and asks about or omits the rest', () => {
    const comparison = new Comparison(DOCUMENTED);
    const area = 'fields';
    comparison.compare(
      { area, path: START, wanted: ['start'] },
      { area, path: ['zone'], wanted: 'Asia/Tokyo', certainty: 'likely' },
      { area, path: ['listPath'], wanted: undefined, ask: 'where?' },
      { area, path: ['recordPath'], wanted: undefined },
    );
    expect(comparison.findings.map(({ result }) => result)).toEqual(['fits', 'differs', 'undecided', 'absent']);
    expect(comparison.changes).toMatchObject([{ path: ['zone'], value: 'Asia/Tokyo', comment: expect.any(String) }]);
    expect(comparison.changes[0]?.comment).toMatch(/, likely$/);
  });

  test('uses the better evidence, and discards the previous finding', () => {
    const comparison = new Comparison(DOCUMENTED);
    comparison.compare({ area: 'fields', path: START, wanted: ['begin'] });
    comparison.recompare({ area: 'fields', path: START, wanted: ['start'] });
    expect(comparison.changes).toEqual([]);
    expect(comparison.findings.map(({ result }) => result)).toEqual(['fits']);
  });
});

describe('a proposal', () => {
  const change = (path: readonly string[], value: unknown, comment = 'seen') => ({ path, value, comment });

  test('holds only what is not as documented, each with why, and loads as the profile', () => {
    const { profile, yaml, omitted } = propose(DOCUMENTED, [change(START, ['begin'], 'found\nthere')]);
    expect(parse(yaml)).toEqual({ appointments: { fields: { start: ['begin'] } } });
    expect(yaml).toContain('# found there\n');
    expect([clinicProfileSchema.parse(parse(yaml)), omitted]).toEqual([profile, []]);
    expect(parse(propose(DOCUMENTED, []).yaml)).toEqual({});
  });

  test('lists values that the schema refuses, and keeps the two names of a window together', () => {
    const filter = (end: string, value: unknown) => change(['appointments', 'filters', end], value);
    const { profile, omitted } = propose(DOCUMENTED, [
      change(['zone'], 'Nowhere/Else'),
      filter('from', 'dal'),
      filter('to', 'al'),
      change(['appointments', 'window', 'leadHours'], -1),
    ]);
    expect(omitted).toEqual(['zone', 'appointments.window.leadHours']);
    expect(profile.appointments.filters).toMatchObject({ from: 'dal', to: 'al' });
    expect(propose(DOCUMENTED, [filter('from', 'dal'), filter('to', 7)]).omitted).toEqual([
      'appointments.filters.from',
      'appointments.filters.to',
    ]);
  });

  test('begins with the questions, whatever line ends are in what the clinic says', () => {
    const asked = [{ ...finding('paging'), ask: 'which is\r\nevil: true\u2028?' }];
    const { yaml } = propose(DOCUMENTED, [change(START, ['begin'])], asked);
    expect(yaml).toContain('# - paging: which is evil: true ?');
    expect(parse(yaml)).toEqual({ appointments: { fields: { start: ['begin'] } } });
    expect(propose(DOCUMENTED, [], asked).yaml).toContain('# - paging: which is evil: true ?');
  });

  test('is no trap by names that are traps', () => {
    const row = JSON.parse(
      '{"type": "object", "properties": {"__proto__": {"type": "string"}, "constructor": {"type": "string"}, "a.b": {"type": "string"}, "with space": {"type": "string"}, "id": {"type": "string"}}}',
    );
    const { changes } = compared(withAppointments(row));
    expect(clinicProfileSchema.safeParse(parse(propose(DOCUMENTED, changes).yaml)).success).toBe(true);
    expect(Object.hasOwn(Object.prototype, 'type')).toBe(false);
  });
});
