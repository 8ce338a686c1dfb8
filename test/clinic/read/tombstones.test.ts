import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import { compilePatientRows } from '../../../src/clinic/read/catalogue-rows.ts';
import { profileOf } from '../open-client.ts';

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
    expect(documented(row)).toEqual({ setAside: expect.objectContaining(STONE) });
  });

  test('is known by a flag of the profile', () => {
    const written = {
      appointments: { flags: [{ path: 'voidedAt', when: 'present' as const, status: 'cancelled' as const }] },
    };
    expect(compileAppointmentRows(profileOf(written))({ id: '17', voidedAt: '2026-03-01' })).toMatchObject({
      setAside: STONE,
    });
    const named = { appointments: { deletedFlags: [{ path: 'meta.state', when: ['X', 'Z'] }] } };
    expect(compileAppointmentRows(profileOf(named))({ id: '17', meta: { state: 'Z' } })).toMatchObject({
      setAside: STONE,
    });
  });

  test('of a patient blanks nothing: it is no patient without a name', () => {
    expect(compilePatientRows(profileOf())({ id: '17', deleted: true })).toEqual({ setAside: STONE });
  });

  test('needs an id, and is none without a word that the record is off', () => {
    expect(documented({ deleted: true })).toMatchObject({ setAside: { code: 'missing-id' } });
    expect(documented({ id: '17', deleted: false })).toMatchObject({ setAside: { code: 'missing-field' } });
    expect(documented({ id: '17', agendaId: 'a1', status: 'Booked' })).toMatchObject({
      setAside: { code: 'missing-field' },
    });
  });

  test('whatever else it holds', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (more) => {
        expect(documented({ ...more, id: '17', deleted: true })).toMatchObject({ setAside: STONE });
      }),
    );
  });
});
