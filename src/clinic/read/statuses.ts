import type { AppointmentStatus, InvalidRow } from '../../model/records.ts';
import { clinicError } from '../http/errors.ts';
import { asFlag, asId, compilePaths, folded, isJsonObject, type JsonObject, type Mapped } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import type { RaisedBy } from '../schema/resources.ts';

/** Tells the status of a row from its own word and the flags beside it. */
export type StatusReader = (raw: string | null, row: JsonObject) => AppointmentStatus;

/** Builds the status table of a profile. A word that it has exactly so counts first; then case, spaces, hyphens and underscores don't matter. */
export function compileStatuses(appointments: ClinicProfile['appointments']): StatusReader {
  const named = new Map(Object.entries(appointments.statuses));
  const spelled = new Map([...named].map(([word, status]) => [folded(word), status]));
  const flags = appointments.flags.map((flag) => ({ ...flag, isRaised: compileRaised(flag) }));
  return (raw, row) => {
    let status = raw === null ? appointments.statusMissing : (named.get(raw) ?? spelled.get(folded(raw)) ?? 'unknown');
    for (const { over, isRaised, status: meant } of flags) {
      const applies = over === null || over.includes(status);
      if (applies && isRaised(row)) status = meant;
    }
    return status;
  };
}

/** Prepares the look at what raises a flag. Clinics write yes and no also as numbers and words. */
export function compileRaised({ path, when }: RaisedBy): (row: JsonObject) => boolean {
  const read = compilePaths([path]);
  const values: readonly unknown[] = Array.isArray(when) ? when : [when];
  const flags: unknown[] = values.filter((one) => typeof one === 'boolean');
  return (row) => {
    const value = read(row);
    if (when === 'present') return (value ?? '') !== '' && asFlag(value) !== false;
    return values.includes(value) || (flags.length > 0 && flags.includes(asFlag(value)));
  };
}

/**
 * A status that somebody names, by our word or by the clinic's (`isTheirs`), however it is spelled: what it is to us, and the clinic's word
 * for it.
 * @throws MirrorError `settings`, code `status-unmapped`, when the profile has no such word; it lists those that can be written
 */
export function statusMeant(
  named: string,
  { statuses, statusWords }: Pick<ClinicProfile['appointments'], 'statuses' | 'statusWords'>,
): { status: AppointmentStatus; word: string; isTheirs: boolean } {
  const spelled = folded(String(named));
  const theirs = Object.entries({ ...statuses, ...swapped(statusWords) });
  const ours = theirs.find(([, status]) => folded(status) === spelled)?.[1];
  if (ours !== undefined) {
    const word = statusWords[ours] ?? theirs.find(([, status]) => status === ours)?.[0];
    if (word !== undefined) return { status: ours, word, isTheirs: false };
  }
  const own = theirs.find(([word]) => word === named) ?? theirs.find(([word]) => folded(word) === spelled);
  if (own !== undefined) return { status: own[1], word: own[0], isTheirs: true };
  const supported = [...new Set(theirs.map(([, status]) => status))].filter((status) => status !== 'unknown');
  const remedy = `give one of: ${supported.join(', ')}; or name the clinic's word in appointments.statusWords of its profile`;
  throw clinicError('status-unmapped', 'the clinic profile has no word for that status of an appointment', { remedy });
}

function swapped(words: ClinicProfile['appointments']['statusWords']): Record<string, AppointmentStatus> {
  return Object.fromEntries(Object.entries(words).map(([status, word]) => [word, status as AppointmentStatus]));
}

/** What of a list's profile tells tombstones. */
interface TombstoneRules {
  fields: { id: readonly string[] };
  deletedFlags: readonly RaisedBy[];
}

/**
 * Wraps a mapper so that a row with a raised `deletedFlags` becomes a tombstone, whatever else the row holds, and so does a row that can't be
 * read and is cancelled. A tombstone needs an id and nothing else.
 * @param isCancelled whether a row that can't be read says by itself that its record is cancelled
 */
export function withTombstones<Model, Rest extends unknown[]>(
  { fields, deletedFlags }: TombstoneRules,
  map: (row: unknown, ...rest: Rest) => Mapped<Model>,
  isCancelled: (row: JsonObject) => boolean = () => false,
): (row: unknown, ...rest: Rest) => Mapped<Model> {
  const flags = deletedFlags.map(compileRaised);
  const readId = compilePaths(fields.id);
  const tombstoneOf = (row: JsonObject): { unusable: InvalidRow } | null => {
    const recordId = asId(readId(row));
    return recordId === null ? null : { unusable: { recordId, code: 'tombstone', field: 'status', isTombstone: true } };
  };
  return (row, ...rest) => {
    if (!isJsonObject(row)) return map(row, ...rest);
    const deleted = flags.some((isRaised) => isRaised(row)) ? tombstoneOf(row) : null;
    if (deleted !== null) return deleted;
    const mapped = map(row, ...rest);
    return 'unusable' in mapped && isCancelled(row) ? (tombstoneOf(row) ?? mapped) : mapped;
  };
}
