import { describe, expect, it } from 'vitest';
import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import { compilePatientRows } from '../../../src/clinic/read/catalogue-rows.ts';
import { splitName } from '../../../src/clinic/read/full-names.ts';
import { profileOf } from '../open-client.ts';

describe('a name in one field', () => {
  it.each([
    ['Mario Rossi', 'given-first', 'Mario', 'Rossi'],
    ['Maria Grazia Rossi', 'given-first', 'Maria Grazia', 'Rossi'],
    ['Mario De Luca', 'given-first', 'Mario', 'De Luca'],
    ['Anna van der Berg', 'given-first', 'Anna', 'van der Berg'],
    ['Rossi Maria Grazia', 'family-first', 'Maria Grazia', 'Rossi'],
    ['De Luca Mario', 'family-first', 'Mario', 'De Luca'],
    ['Rossi, Mario', 'given-first', 'Mario', 'Rossi'],
    ['De Luca ,  Maria Grazia', 'family-first', 'Maria Grazia', 'De Luca'],
    ['  Rossi ', 'given-first', null, 'Rossi'],
    ['Rossi', 'family-first', null, 'Rossi'],
  ] as const)('"%s", %s, has its parts', (text, order, firstName, lastName) => {
    expect(splitName(text, { order, separator: ',' })).toEqual({ firstName, lastName });
  });

  it('is read of patients, where the parts are not told', () => {
    const map = compilePatientRows(
      profileOf({ patients: { fullName: { path: 'names[].text', order: 'given-first' } } }),
    );
    const row = { id: 'p', names: [{ text: 'Mario De Luca' }] };
    expect(map(row)).toMatchObject({ record: { firstName: 'Mario', lastName: 'De Luca' } });
    expect(map({ ...row, lastName: 'Rossi' })).toMatchObject({ record: { firstName: null, lastName: 'Rossi' } });
  });

  it('is read of the patient in an appointment', () => {
    const rule = { path: 'patient.name', order: 'family-first' } as const;
    const map = compileAppointmentRows(profileOf({ appointments: { patientFullName: rule } }));
    const times = { start: '2026-12-01T09:00:00Z', end: '2026-12-01T09:30:00Z' };
    const mapped = map({ id: 'a', agendaId: 'g', patient: { id: 'p', name: 'Rossi Anna' }, ...times });
    expect(mapped).toMatchObject({ record: { patient: { id: 'p', firstName: 'Anna', lastName: 'Rossi' } } });
  });
});
