import { describe, expect, test } from 'vitest';
import type { InvalidRow } from '../../src/core/model/records.ts';
import type { Withheld } from '../../src/core/model/run-schemas.ts';
import type { ClinicTarget } from '../../src/domain/cycle-input.ts';
import type { ReadClinic } from '../../src/domain/read-clinic.ts';
import { gapsOf, unlisted } from '../../src/domain/reading-gaps.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTarget } from '../tenant/open-tenant.ts';
import { appointmentOf, NAMED_DIRECTORY } from './arbitraries.ts';

const row = (changes: Partial<InvalidRow>): InvalidRow => ({
  recordId: '1',
  code: 'bad-time',
  field: 'start',
  ...changes,
});

function targetOf(id: string, configuration: object): ClinicTarget {
  return openTarget('studio-rossi', { id, model: createModelTarget(), configuration });
}

/** The clinic has the agenda a1 in its catalogue, and a2 only in an appointment. */
function readingOf({ unusable = [], withheld = [] }: { unusable?: InvalidRow[]; withheld?: Withheld[] } = {}) {
  const records = new Map([['1', appointmentOf('1', { agendaId: 'a2', treatmentId: 't2' })]]);
  const snapshot = { completeness: 'complete', records, unusable };
  return { snapshot, streams: {}, directory: NAMED_DIRECTORY, withheld } as unknown as ReadClinic;
}

describe('configured ids', () => {
  const gaps = (configuration: object, withheld: Withheld[] = []) =>
    gapsOf([targetOf('doctor', configuration)], [], readingOf({ withheld })).get('doctor');

  test('that the catalogue or an appointment contains are no gap', () => {
    expect(gaps({ agendas: ['a1', 'a2'], treatments: ['t1', 't2'] })).toBeUndefined();
  });

  test('that neither contains are named, with what the catalogue has instead', () => {
    const gap = { count: 1, what: ['a3'], soon: ['a1 (Dr. Verdi)'] };
    expect(gaps({ agendas: ['a3'] })).toEqual([{ code: 'agenda-unknown', ...gap }]);
  });

  test('are only unconfirmed if the connection may not read the catalogue', () => {
    const withheld: Withheld[] = [{ part: 'treatments', code: 'missing-claim', remedy: null }];
    const gap = { count: 1, what: ['t3'], soon: [] };
    expect(gaps({ treatments: ['t3'] }, withheld)).toEqual([{ code: 'treatment-unconfirmed', ...gap }]);
  });

  test('of a follower are gaps of its section', () => {
    const namedIds = new Map([['reminders', { agendas: ['a3'], treatments: 'all' as const }]]);
    const found = gapsOf([], [{ namedIds }], readingOf());
    expect([...found].map(([section, all]) => [section, all.map(({ code }) => code)])).toEqual([
      ['reminders', ['agenda-unknown']],
    ]);
  });
});

test('an unusable appointment is a gap of each calendar that may show it; a reported cancellation is none', () => {
  const targets = [targetOf('first', { agendas: ['a1'] }), targetOf('second', { agendas: ['a2'] })];
  const countsOf = (unusable: InvalidRow[]) =>
    targets.map(({ id }) =>
      gapsOf(targets, [], readingOf({ unusable }))
        .get(id)
        ?.map(({ count }) => count),
    );
  expect(countsOf([row({ agendaId: 'a1' })])).toEqual([[1], undefined]);
  expect(countsOf([row({}), row({ agendaId: 'a2' })])).toEqual([[1], [2]]);
  expect(countsOf([row({ isTombstone: true })])).toEqual([undefined, undefined]);
});

describe('suggestions for an unknown id', () => {
  const catalogue = new Map([
    ['stanza-1', { name: 'Room one' }],
    ['stanza-2', { name: 'Dr. Verdi' }],
  ]);

  test('resemble it in id or name', () => {
    expect(unlisted(['stanza-11'], catalogue)?.soon).toContain('stanza-1 (Room one)');
    expect(unlisted(['Dr. Verde'], catalogue)?.soon).toEqual(['stanza-2 (Dr. Verdi)']);
    expect(unlisted(['stanza-2'], catalogue)).toBeNull();
  });

  test('are the first of the catalogue if none resembles it', () => {
    expect(unlisted(['xyz'], catalogue)?.soon).toEqual(['stanza-1 (Room one)', 'stanza-2 (Dr. Verdi)']);
  });
});
