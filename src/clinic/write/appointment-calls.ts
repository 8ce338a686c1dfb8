import { MirrorError } from '../../core/model/errors.ts';
import type { AppointmentStatus } from '../../core/model/records.ts';
import type { Lookup } from '../../core/model/snapshots.ts';
import type { JsonObject } from '../../described-api/paths.ts';
import { message } from '../../messages/message.ts';
import type { ClinicContext } from '../http/call.ts';
import { addressOf, type ClinicCall, send } from '../http/call.ts';
import { clinicError, errorFromAnswer, saysAbsent } from '../http/errors.ts';
import {
  type AppointmentValues,
  type BookedAppointment,
  compileBookings,
  statusMeant,
} from '../read/appointment-rows.ts';
import { segmentsOf } from '../read/reading.ts';
import { createZone } from '../read/timestamps.ts';
import type { RecordOf } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { payment, statusChange } from '../schema/shapes.ts';
import { appointmentDuplicate } from './natural-keys.ts';
import { createCallZones, createResourceCalls, inCurrent, recordGone, type WritableCalls } from './resource-calls.ts';
import { compileWriter } from './writing.ts';

/** Values of a payment operation. */
export type Payment = Pick<RecordOf<typeof payment>, 'amount' | 'currency' | 'method'> &
  Partial<RecordOf<typeof payment>>;

/** Calls of specification section 4.4. Each call returns the appointment after the change. */
export interface AppointmentCalls extends WritableCalls<BookedAppointment, AppointmentValues> {
  /**
   * Sets the status; no error if the appointment already has this status.
   * @param change.status clinic-mirror's status, or the clinic's own word
   * @throws MirrorError `settings`, code `status-unmapped`, if the profile has no word for the status; `conflict`, code
   *   `transition-refused`, if the clinic refuses the change from the current status, `record-gone` if the appointment does not exist
   */
  setStatus(
    tenantId: string,
    id: string,
    change: { status: string; reason?: string },
    signal: AbortSignal,
  ): Promise<BookedAppointment>;
  setPayment(tenantId: string, id: string, paid: Payment, signal: AbortSignal): Promise<BookedAppointment>;
  /** Removes the payment; no error if the appointment is unpaid. */
  removePayment(tenantId: string, id: string, signal: AbortSignal): Promise<BookedAppointment>;
  /** Records the patient's arrival; no error if the patient has already arrived. */
  checkIn(tenantId: string, id: string, signal: AbortSignal): Promise<BookedAppointment>;
}

/** Prepares the calls under the context's profile. */
export function createAppointmentCalls(context: ClinicContext): AppointmentCalls {
  const { profile, compiled } = context;
  const sites = createCallZones(context);
  const { create, update, remove, ...unplaced } = createResourceCalls<
    'appointments',
    BookedAppointment,
    AppointmentValues
  >(context, 'appointments', {
    map: inCurrent(compiled.of(compileBookings), sites),
    zones: sites,
    duplicateOf: appointmentDuplicate(profile, createZone(profile.zone), () => sites.current().names),
  });
  const { list, read } = sites.reading(unplaced);
  const writeStatus = compiled.of(compileStatusChange);
  const writePayment = compiled.of(compilePayment);

  const step = createStep(context, read);

  return {
    list,
    read,
    create,
    update,
    remove,
    async setStatus(tenantId, id, { status, reason }, signal) {
      const wanted = statusMeant(status, profile.appointments);
      const body = writeStatus({ status: wanted.word, ...(reason === undefined ? {} : { reason }) });
      return orThere(step(tenantId, id, 'setStatus', { method: 'PUT', body, signal }), {
        look: () => read(tenantId, id, signal),
        wanted: wanted.status,
        isThere: (now) => now.status === wanted.status && (!wanted.isTheirs || now.statusWord === wanted.word),
      });
    },
    async setPayment(tenantId, id, paid, signal) {
      return step(tenantId, id, 'setPayment', { method: 'PUT', body: writePayment(paid), signal });
    },
    removePayment: (tenantId, id, signal) => step(tenantId, id, 'removePayment', { method: 'DELETE', signal }),
    async checkIn(tenantId, id, signal) {
      const body: JsonObject = {};
      return orThere(step(tenantId, id, 'checkIn', { method: 'POST', body, signal }), {
        look: () => read(tenantId, id, signal),
        wanted: 'arrived',
        // Some clinics omit the time of arrival.
        isThere: (now) => now.checkedInAt !== null || now.status === 'arrived',
      });
    },
  };
}

/** Desired state of an appointment, and its check. */
interface Goal {
  wanted: AppointmentStatus;
  isThere(now: BookedAppointment): boolean;
  look(): Promise<Lookup<BookedAppointment>>;
}

/** After a conflict or an ambiguous failure, reads the appointment: if it already has the desired state, the step is done. */
async function orThere(step: Promise<BookedAppointment>, { wanted, isThere, look }: Goal): Promise<BookedAppointment> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof MirrorError) || (error.code !== 'conflict' && !error.ambiguous)) throw error;
    const now = await look();
    if (!('found' in now)) throw error;
    if (isThere(now.found)) return now.found;
    throw error.code === 'conflict' ? transitionRefused(error, now.found.status, wanted) : error;
  }
}

function transitionRefused(error: MirrorError, from: AppointmentStatus, to: AppointmentStatus): MirrorError {
  const more = { status: error.status, said: error.vendorMessages(), cause: error };
  return clinicError('transition-refused', message('clinic.transition-refused', { from, to }), more);
}

/** Last path segment of each step. */
const STEPS = { setStatus: 'status', setPayment: 'payment', removePayment: 'payment', checkIn: 'checkin' } as const;

/** Sends one step of an appointment and reads the appointment again, because clinics answer steps differently. */
type Step = (
  tenantId: string,
  id: string,
  name: keyof typeof STEPS,
  rest: Pick<ClinicCall, 'method' | 'body' | 'signal'>,
) => Promise<BookedAppointment>;

function createStep(context: ClinicContext, read: AppointmentCalls['read']): Step {
  const { profile } = context;
  return async (tenantId, id, name, rest) => {
    const label = `clinic.appointments.${name}`;
    const url = addressOf(context, segmentsOf(profile, { list: 'appointments', tenantId }, id, STEPS[name]));
    const answer = await send(context, { label, url, ...rest, accepts: (each) => saysAbsent(each, profile) });
    const now = await read(tenantId, id, rest.signal);
    if ('absent' in now) throw recordGone(label);
    if ('unusable' in now) throw unreadable(label, context);
    // An absent payment needs no removal. For any other step, 404 is a failure.
    const isDone = !saysAbsent(answer, profile) || (rest.method === 'DELETE' && now.found.isPaid !== true);
    if (isDone) return now.found;
    throw errorFromAnswer(answer, label, context);
  };
}

function unreadable(label: string, { profileFile }: ClinicContext): MirrorError {
  const remedy = message('clinic.bad-record.correct', { section: 'appointments.fields', file: profileFile });
  return clinicError('bad-record', message('clinic.bad-record.done', { label }), {
    retry: 'never',
    remedy,
  });
}

function compileStatusChange(profile: ClinicProfile) {
  return compileWriter(statusChange, profile.appointments.statusChange, profile, profile.appointments);
}

function compilePayment(profile: ClinicProfile) {
  return compileWriter(payment, profile.appointments.payment, profile, profile.appointments);
}
