import { MirrorError } from '../model/errors.ts';
import type { AppointmentStatus } from '../model/records.ts';
import type { RecordOf } from '../settings/clinic-fields.ts';
import type { ClinicProfile } from '../settings/clinic-profile.ts';
import { payment, statusChange } from '../settings/clinic-resources.ts';
import { addressOf } from './addresses.ts';
import { type ClinicCall, send } from './call.ts';
import type { ClinicContext } from './context.ts';
import { saysAbsent } from './errors.ts';
import { type ClinicRecord, createResourceCalls, type WritableCalls } from './resource-calls.ts';
import type { JsonObject } from './rows.ts';
import { compileWriter } from './writing.ts';

/** An appointment as the API has it. */
export type BookedAppointment = ClinicRecord<'appointments'>;

/** The calls of specification section 4.4. Each of them gives the appointment as it is afterwards. */
export interface AppointmentCalls extends WritableCalls<BookedAppointment> {
  /**
   * @throws MirrorError `settings`, code `status-unmapped`, when the profile has no word for the status; `conflict` when the
   *   appointment can't go from where it stands to there, or is gone
   */
  setStatus(
    tenantId: string,
    id: string,
    change: { status: AppointmentStatus; reason?: string },
    signal: AbortSignal,
  ): Promise<BookedAppointment>;
  setPayment(
    tenantId: string,
    id: string,
    paid: RecordOf<typeof payment>,
    signal: AbortSignal,
  ): Promise<BookedAppointment>;
  removePayment(tenantId: string, id: string, signal: AbortSignal): Promise<BookedAppointment>;
  /** The patient has arrived; one who had already is no error. */
  checkIn(tenantId: string, id: string, signal: AbortSignal): Promise<BookedAppointment>;
}

type Step = Pick<ClinicCall, 'method' | 'body'>;

/** Prepares the calls under the context's profile. */
export function createAppointmentCalls(context: ClinicContext): AppointmentCalls {
  const { profile } = context;
  const calls = createResourceCalls(context, 'appointments');
  const writeStatus = compileWriter(statusChange, profile.appointments.statusChange, profile);
  const writePayment = compileWriter(payment, profile.appointments.payment, profile);

  /** Does one step below an appointment and reads it again: what the step itself answers differs from clinic to clinic. */
  async function step(tenantId: string, id: string, name: string, { method, body }: Step, signal: AbortSignal) {
    const label = `clinic.appointments.${name}`;
    const answer = await send(context, {
      label,
      url: addressOf(context, ['tenants', tenantId, 'appointments', id, name]),
      signal,
      accepts: (each) => saysAbsent(each, profile),
      ...(method === undefined ? {} : { method }),
      ...(body === undefined ? {} : { body }),
    });
    const found = saysAbsent(answer, profile) ? null : await calls.read(tenantId, id, signal);
    if (found !== null && 'found' in found) return found.found;
    throw new MirrorError(`${label}: there is no such appointment`, {
      actor: 'conflict',
      code: 'record-gone',
      retry: 'never',
    });
  }

  return {
    ...calls,
    async setStatus(tenantId, id, { status, reason }, signal) {
      const body = writeStatus({ status: wordFor(status, profile), ...(reason === undefined ? {} : { reason }) });
      return step(tenantId, id, 'status', { method: 'PUT', body }, signal);
    },
    async setPayment(tenantId, id, paid, signal) {
      return step(tenantId, id, 'payment', { method: 'PUT', body: writePayment(paid) }, signal);
    },
    removePayment: (tenantId, id, signal) => step(tenantId, id, 'payment', { method: 'DELETE' }, signal),
    async checkIn(tenantId, id, signal) {
      const body: JsonObject = {};
      try {
        return await step(tenantId, id, 'checkin', { method: 'POST', body }, signal);
      } catch (error) {
        if (!(error instanceof MirrorError) || (error.code !== 'conflict' && !error.ambiguous)) throw error;
        const now = await calls.read(tenantId, id, signal);
        if ('found' in now && now.found.checkedInAt !== null) return now.found;
        throw error;
      }
    },
  };
}

/** The clinic's word for a status of ours. */
function wordFor(status: AppointmentStatus, { appointments }: ClinicProfile): string {
  const told = appointments.statusWords[status];
  const word = told ?? Object.entries(appointments.statuses).find(([, means]) => means === status)?.[0];
  if (word !== undefined) return word;
  throw new MirrorError(`the clinic profile has no word for the status ${status}`, {
    actor: 'settings',
    code: 'status-unmapped',
    retry: 'never',
    remedy: 'name one in appointments.statusWords of the clinic profile',
  });
}
