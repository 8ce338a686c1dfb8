import { APART, compilePaths, folded } from '../../clinic/http/rows.ts';
import { compileAppointmentRows, compileStatuses } from '../../clinic/read/appointment-rows.ts';
import { remarksOf } from '../../clinic/read/reading-remarks.ts';
import { compileFields, tolerant } from '../../clinic/read/records.ts';
import { createZone, formatInstant } from '../../clinic/read/timestamps.ts';
import { isNested, type ScalarField } from '../../clinic/schema/fields.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { appointment } from '../../clinic/schema/shapes.ts';
import type { AppointmentStatus } from '../../core/model/records.ts';
import type { ReadingRemark } from '../../core/model/run-schemas.ts';
import { sentenceOfRemark } from '../../core/model/snapshots.ts';
import { isJsonObject, type JsonObject, parsePath } from '../../described-api/paths.ts';
import { message, render } from '../../messages/message.ts';
import { byWeight, type Comparison, type Finding, fitsAll, propose } from './findings.ts';

/** Result of comparing a clinic's API with a profile. */
export interface ProfileCheck {
  /** No differences and no critical open questions. */
  fits: boolean;
  /** Findings for the operator to decide or ask, most serious first. */
  toDecide: readonly Finding[];
  findings: readonly Finding[];
  /** YAML of a profile with the findings, ready to use. */
  proposedProfile: string;
  /** Locations of findings that no profile can combine. */
  omitted: readonly string[];
  /** Unreadable parts. */
  remarks: readonly string[];
  /** Source records as read by the proposed profile; null for none. */
  rows: RowsRead | null;
}

/** Adds the proposed profile to a comparison. */
export function concluded(
  { findings, changes }: Pick<Comparison, 'findings' | 'changes'>,
  profile: ClinicProfile,
  remarks: readonly string[],
  rowsRead: (proposed: ClinicProfile) => RowsRead | null,
): ProfileCheck {
  const asked = byWeight(findings.filter(({ ask }) => ask !== null));
  const { profile: proposed, yaml, omitted } = propose(profile, changes, asked);
  const rows = rowsRead(proposed);
  const report = { toDecide: asked, findings, proposedProfile: yaml, omitted };
  const shown = (rows?.remarks ?? []).map((remark) => render(sentenceOfRemark(remark)));
  return { fits: fitsAll(findings), ...report, remarks: [...remarks, ...shown], rows };
}

/** One field of a sample record: path, value and result of the profile. Patients' values are masked. */
export interface FieldRead {
  field: string;
  /** Null: the profile finds no value. */
  path: string | null;
  value: string;
  read: string;
}

/** Sample appointments as read by a profile. */
export interface RowsRead {
  /** Source: the clinic, or a record made from the document's examples and types. */
  of: 'clinic' | 'document';
  rows: number;
  /** Number of usable records. */
  read: number;
  unusable: { code: string; field: string; rows: number }[];
  /** Remarks on the profile without data loss. */
  remarks: ReadingRemark[];
  /** Each status with the clinic's values. */
  statuses: { status: AppointmentStatus; values: string[]; rows: number }[];
  /** One record, field by field. */
  fields: FieldRead[];
  /** Names in the record that no field uses. */
  notRead: string[];
}

/** Maximum number of sample records. */
const ROWS = 20;
/** Fields without patient data; all others are masked. */
const OPEN = new Set<string>(
  'zone id agendaId locationId doctorId treatmentId priceListId start end duration allDay status confirmedAt checkedInAt cancelledAt isPaid createdAt updatedAt'.split(
    ' ',
  ),
);
/** Names with patient data, even if mapped to another field. */
const OF_PATIENTS = /patient|pazient|assistit|customer|client|person|name|nome|mail|phone|telef|note/i;
/** Form of ids, times and states: a name has no digit, and a sentence has blanks. */
const ID = /^(?=.*\d)[\w.:/+ -]{1,40}$/;
const NUMBER = /^-?\d{1,4}$/;
const WORD = /^[\p{L}\d_-]{1,30}$/u;

/** Returns up to 20 records as read by a profile, and one of them field by field. Null without records. */
export function readRows(
  rows: readonly unknown[],
  profile: ClinicProfile,
  of: RowsRead['of'] = 'clinic',
): RowsRead | null {
  const step = Math.max(1, Math.floor(rows.length / ROWS));
  const looked = rows.filter((_, index) => index % step === 0).slice(0, ROWS);
  const objects = looked.filter(isJsonObject);
  const map = compileAppointmentRows(profile);
  const mapped = looked.map((row) => map(row));
  const records = mapped.flatMap((one) => ('record' in one ? [one.record] : []));
  const asides = mapped.flatMap((one) => ('unusable' in one ? [one.unusable] : []));
  const isState = statesIn(objects, profile, of);
  const fields = objects.map((row) => fieldsOf(row, profile, isState));
  const foundCount = (one: readonly FieldRead[]) => one.filter(({ path }) => path !== null).length;
  const [fullest] = fields.toSorted((one, other) => foundCount(other) - foundCount(one));
  if (fullest === undefined) return null;
  const row = objects[fields.indexOf(fullest)];
  return {
    of,
    rows: looked.length,
    read: records.length,
    unusable: [...Map.groupBy(asides, ({ code, field }) => `${code} ${field}`).values()].map((found) => {
      const { code = '', field } = found[0] ?? {};
      return { code, field: field ?? '', rows: found.length };
    }),
    statuses: [...Map.groupBy(records, ({ status }) => status)].map(([status, found]) => {
      const words = found.map(({ rawStatus: word }) =>
        word === null ? '(none)' : isState(word) ? word : masked(word),
      );
      return { status, values: [...new Set(words)], rows: found.length };
    }),
    remarks: remarksOf(rows, profile),
    fields: fullest,
    notRead: row === undefined ? [] : notReadOf(row, profile),
  };
}

/**
 * Returns the values that can be shown as states: those in the profile, numbers, and values of several records. A value of one record only
 * is possibly a name.
 */
function statesIn(
  rows: readonly JsonObject[],
  { appointments }: ClinicProfile,
  of: RowsRead['of'],
): (word: unknown) => boolean {
  const wordOf = compilePaths(appointments.fields.status);
  const named = new Set(Object.keys(appointments.statuses).map(folded));
  const isOfPatients = appointments.fields.status.some((path) => OF_PATIENTS.test(path));
  const isCommon = !isOfPatients && new Set(rows.map(wordOf)).size <= rows.length / 2;
  return (word) => {
    const text = String(word);
    return of === 'document' || (isCommon && WORD.test(text)) || named.has(folded(text)) || NUMBER.test(text);
  };
}

function fieldsOf(row: JsonObject, profile: ClinicProfile, isState: (word: unknown) => boolean): FieldRead[] {
  const { fields, words } = profile.appointments;
  const read = compileFields(appointment, fields, profile, words);
  const statusOf = compileStatuses(profile.appointments);
  const zone = createZone(profile.zone);
  return Object.entries(appointment).flatMap(([field, one]: [string, ScalarField]) => {
    if (isNested(one)) return [];
    const name = field as keyof typeof appointment;
    const found = fields[name].flatMap((path) => {
      const value = compilePaths([path])(row);
      return value === null || value === undefined || value === '' ? [] : [{ path, value }];
    })[0];
    const readValue = tolerant<unknown>(read[name])(row);
    if (found === undefined && !one.needed && field !== 'status') return [];
    const isOpen = OPEN.has(field) && !OF_PATIENTS.test(found?.path ?? '');
    const shown = (value: unknown) => {
      if (field === 'status') return isState(value) ? String(value) : masked(value);
      return isOpen ? open(value) : masked(value);
    };
    const made = () => {
      if (field === 'status') return statusOf(readValue === null ? null : String(readValue), row);
      if (readValue === null && field === 'duration' && found !== undefined) return shown(found.value);
      if (readValue === null) return found === undefined ? '–' : render(message('cannot-read'));
      if (one.kind === 'instant' && isOpen) return formatInstant(Number(readValue), 'offset', zone);
      return shown(one.kind === 'decimal' ? Number(readValue) : readValue);
    };
    return [{ field, path: found?.path ?? null, value: found === undefined ? '–' : shown(found.value), read: made() }];
  });
}

/** Returns the top-level names of a record that the profile does not read. */
function notReadOf(row: JsonObject, { appointments: { fields, flags, tenantId } }: ClinicProfile): string[] {
  const paths = [...Object.values(fields).flat(), ...flags.map(({ path }) => path), ...tenantId];
  const used = new Set(paths.flatMap((path) => path.split(APART).map((each) => parsePath(each)[0]?.name)));
  return Object.keys(row).filter((name) => !used.has(name));
}

function open(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && ID.test(value) ? value : masked(value);
}

/** Returns the type of a value without its content. */
function masked(value: unknown): string {
  if (typeof value === 'string') return value === '' ? '(empty)' : '(text)';
  if (typeof value === 'boolean') return '(yes or no)';
  return typeof value === 'number' ? '(number)' : '(several values)';
}
