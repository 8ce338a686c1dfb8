import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import { profileOf, type WrittenProfile } from '../open-client.ts';

/** An appointment as the documented profile reads it. */
export const ROW = {
  id: 'app-1',
  agendaId: 'ag-1',
  locationId: 'loc-1',
  patientId: 'pat-1',
  patient: { id: 'pat-1', firstName: 'Anna', lastName: 'Bianchi', phone: '+39 333' },
  treatmentId: 'tr-1',
  start: '2026-03-30T09:00:00+02:00',
  end: '2026-03-30T09:30:00+02:00',
  status: 'Booked',
  updatedAt: '2026-03-01T12:00:00+01:00',
};

/** Reads a row that must become a record. */
export function recordOf(row: unknown, written: WrittenProfile = {}) {
  const mapped = compileAppointmentRows(profileOf(written))(row);
  if ('unusable' in mapped) throw new Error(`set aside: ${mapped.unusable.code} ${mapped.unusable.field}`);
  return mapped.record;
}
