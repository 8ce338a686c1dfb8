import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import { compilePatientRows } from '../../../src/clinic/read/catalogue-rows.ts';
import { compileStatuses, statusMeant } from '../../../src/clinic/read/statuses.ts';
import { profileOf, type WrittenProfile } from '../open-client.ts';

type Written = NonNullable<WrittenProfile['appointments']>;

function statusOf(written: Written, raw: string | null, row: Record<string, unknown> = {}) {
  return compileStatuses(profileOf({ appointments: written }).appointments)(raw, row);
}

describe('the status of a row', () => {
  test('is told by words however they are spelled', () => {
    for (const word of ['NO SHOW', 'no-show', 'noshow', 'No_Show']) expect(statusOf({}, word)).toBe('no_show');
  });

  test('is told by a number, whose sign counts', () => {
    const statuses = { 1: 'booked', '-1': 'cancelled' } as const;
    expect(['1', '-1', '-2'].map((raw) => statusOf({ statuses }, raw))).toEqual(['booked', 'cancelled', 'unknown']);
    expect(statusOf({ statuses: { 1: 'booked' } }, '-1')).toBe('unknown');
  });

  test('is told by signs and letters, whose case counts where both are named', () => {
    const statuses = { '-': 'booked', '@': 'arrived', C: 'confirmed', c: 'cancelled', x: 'no_show' } as const;
    expect(['-', '@', 'C', 'c', 'X', '_'].map((raw) => statusOf({ statuses }, raw))).toEqual([
      'booked',
      'arrived',
      'confirmed',
      'cancelled',
      'no_show',
      'unknown',
    ]);
  });

  test.each([
    ['any value', 'present', ['x', 1, true, '0000-00-00'], [null, false, 'false', 0, '0', '', undefined]],
    ['one value', 1, [1], [true, '1', 2, null]],
    ['some values', ['present', 'late', 1], ['present', 'late', 1], ['absent', true, '1', null]],
    ['yes', true, [true, 1, '1', 'True', 'sì'], [false, 0, 'no', 'x', 2, null]],
    ['no', [false], [false, 0, '0', 'N'], [true, 1, '', 'x', null]],
  ] as const)('is told by a flag that %s raises', (_what, when, raising, others) => {
    const flags = [{ path: 'seen.at', when: typeof when === 'object' ? [...when] : when, status: 'arrived' as const }];
    const read = (at: unknown) => statusOf({ flags }, 'Booked', { seen: { at } });
    expect(raising.map(read)).toEqual(raising.map(() => 'arrived'));
    expect(others.map(read)).toEqual(others.map(() => 'booked'));
  });
});

test('a status that somebody names is the clinic’s own word as it is before another one that is spelled alike', () => {
  const { appointments } = profileOf({ appointments: { statuses: { C: 'confirmed', c: 'cancelled' } } });
  expect(statusMeant('c', appointments)).toEqual({ status: 'cancelled', word: 'c', isTheirs: true });
  expect(statusMeant('C', appointments)).toEqual({ status: 'confirmed', word: 'C', isTheirs: true });
});

const STONE = { recordId: '17', code: 'tombstone', field: 'status', isTombstone: true };
const documented = compileAppointmentRows(profileOf());

describe('a row that says no more than that its record is off', () => {
  test.each([
    ['a deletion flag and an id', { id: '17', deleted: true, modified: '2026-03-01T08:00:00Z' }],
    ['another usual name of the flag', { id: 17, isDeleted: true }],
    ['a deletion flag that is a number', { id: 17, deleted: 1 }],
    ['a deletion flag that is a word', { id: 17, deleted: 'True' }],
    ['a cancelled status without a time', { id: '17', agendaId: 'a1', status: 'Cancelled' }],
    [
      'a cancelled status and a time that can not be read',
      { id: '17', agendaId: 'a1', start: 'soon', status: 'Cancelled' },
    ],
  ])('is a tombstone: %s', (_, row) => {
    expect(documented(row)).toEqual({ unusable: expect.objectContaining(STONE) });
  });

  test('is known by a flag of the profile', () => {
    const written = {
      appointments: { flags: [{ path: 'voidedAt', when: 'present' as const, status: 'cancelled' as const }] },
    };
    expect(compileAppointmentRows(profileOf(written))({ id: '17', voidedAt: '2026-03-01' })).toMatchObject({
      unusable: STONE,
    });
    const named = { appointments: { deletedFlags: [{ path: 'meta.state', when: ['X', 'Z'] }] } };
    expect(compileAppointmentRows(profileOf(named))({ id: '17', meta: { state: 'Z' } })).toMatchObject({
      unusable: STONE,
    });
  });

  test('of a patient blanks nothing: it is no patient without a name', () => {
    expect(compilePatientRows(profileOf())({ id: '17', deleted: true })).toEqual({ unusable: STONE });
  });

  test('needs an id, and is none without a word that the record is off', () => {
    expect(documented({ deleted: true })).toMatchObject({ unusable: { code: 'missing-id' } });
    expect(documented({ id: '17', deleted: false })).toMatchObject({ unusable: { code: 'missing-field' } });
    expect(documented({ id: '17', agendaId: 'a1', status: 'Booked' })).toMatchObject({
      unusable: { code: 'missing-field' },
    });
  });

  test('whatever else it holds', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (more) => {
        expect(documented({ ...more, id: '17', deleted: true })).toMatchObject({ unusable: STONE });
      }),
    );
  });
});
