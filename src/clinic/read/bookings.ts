import type { AppointmentStatus } from '../../model/records.ts';
import { isJsonObject, type Mapped } from '../http/rows.ts';
import type { RecordOf } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { appointment } from '../schema/registry.ts';
import { compileRecords } from './records.ts';
import { compileStatuses } from './statuses.ts';

type Row = RecordOf<typeof appointment>;

/** An appointment as the API has it: `status` in our words, by the profile's table and flags, `statusWord` in the clinic's. */
export interface BookedAppointment extends Omit<Row, 'status'> {
  status: AppointmentStatus;
  statusWord: string | null;
}

/** What can be said of an appointment that is booked or moved; its status has a call of its own. */
export type AppointmentValues = Partial<Omit<Row, 'status'>>;

/** Prepares the reading of appointments as the API has them; rows are set aside as `compileRecords` does. */
export function compileBookings(profile: ClinicProfile): (row: unknown) => Mapped<BookedAppointment> {
  const map = compileRecords(appointment, profile.appointments.fields, profile, profile.appointments.words);
  const statusOf = compileStatuses(profile.appointments);
  return (row) => {
    const mapped = map(row);
    if ('setAside' in mapped || !isJsonObject(row)) return mapped as Extract<typeof mapped, { setAside: unknown }>;
    const { status, ...rest } = mapped.record;
    return { record: { ...rest, status: statusOf(status, row), statusWord: status } };
  };
}
