import { MirrorError } from '../../model/errors.ts';
import type { AppointmentStatus } from '../../model/records.ts';
import { folded, type JsonObject, valueAt } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';

type Flag = ClinicProfile['appointments']['flags'][number];

/** Tells the status of a row from its own word and the flags beside it. */
export type StatusReader = (raw: string | null, row: JsonObject) => AppointmentStatus;

/** Builds the status table of a profile. Words are compared without case, spaces, hyphens and underscores. */
export function compileStatuses(appointments: ClinicProfile['appointments']): StatusReader {
  const table = new Map(Object.entries(appointments.statuses).map(([word, status]) => [folded(word), status]));
  return (raw, row) => {
    let status = raw === null ? appointments.statusMissing : (table.get(folded(raw)) ?? 'unknown');
    for (const flag of appointments.flags) {
      const applies = flag.over === null || flag.over.includes(status);
      if (applies && isRaised(flag, row)) status = flag.status;
    }
    return status;
  };
}

/** Whether a row has what raises a flag. */
export function isRaised(flag: Flag, row: JsonObject): boolean {
  const value = valueAt(row, flag.path);
  if (flag.when === 'present') return value !== undefined && value !== null && value !== false && value !== '';
  return value === flag.when;
}

/**
 * The clinic's word for a status of ours.
 * @throws MirrorError `settings`, code `status-unmapped`, when the profile has none
 */
export function statusWord(
  status: AppointmentStatus,
  { statuses, statusWords }: ClinicProfile['appointments'],
): string {
  const word = statusWords[status] ?? Object.entries(statuses).find(([, means]) => means === status)?.[0];
  if (word !== undefined) return word;
  throw new MirrorError(`the clinic profile has no word for the status ${status}`, {
    actor: 'settings',
    code: 'status-unmapped',
    retry: 'never',
    remedy: 'name one in appointments.statusWords of the clinic profile',
  });
}
