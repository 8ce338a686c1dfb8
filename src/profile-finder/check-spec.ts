import { APART, compilePaths, folded, isJsonObject, type JsonObject } from '../clinic/http/rows.ts';
import { compileAppointmentRows, compileStatuses } from '../clinic/read/appointment-rows.ts';
import { remarksOf } from '../clinic/read/reading-remarks.ts';
import { compileFields, tolerant } from '../clinic/read/records.ts';
import { createZone, formatInstant } from '../clinic/read/timestamps.ts';
import { isNested, type ScalarField } from '../clinic/schema/fields.ts';
import { parsePath } from '../clinic/schema/paths.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { appointment } from '../clinic/schema/shapes.ts';
import { message, render } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { parseJson } from '../model/json.ts';
import type { AppointmentStatus } from '../model/records.ts';
import { type ReadingRemark, sentenceOfRemark } from '../model/snapshots.ts';
import { compareSpecification } from './compare.ts';
import { byWeight, type Comparison, type Finding, fitsAll, propose } from './findings.ts';
import { readSpecification } from './openapi.ts';
import { rowsIn } from './questions.ts';
import type { ValueSchema } from './values.ts';

/** A clinic's API against a profile, as people see it. */
export interface ProfileCheck {
  /** Nothing differs, and nothing is open without which rows would be read wrong. */
  fits: boolean;
  /** Of the findings those that a person must decide or ask, what costs most when it is wrong first. */
  toDecide: readonly Finding[];
  findings: readonly Finding[];
  /** YAML of a profile that says what was found; it loads as it is. */
  proposedProfile: string;
  /** Places whose findings no profile can hold together. */
  omitted: readonly string[];
  /** What could not be read. */
  remarks: readonly string[];
  /** What the proposed profile reads of some rows; null where there are none. */
  rows: RowsRead | null;
}

/**
 * Compares a clinic's own OpenAPI document with a profile.
 * @param document its text, JSON or YAML
 * @param answer the text of an answer of the list of appointments, whose rows are read; without it a row is made of the document's examples
 * @throws MirrorError `settings`, codes `spec-too-large`, `spec-unreadable`, `spec-not-openapi`, `rows-unreadable`
 */
export function checkSpecification(document: string, profile: ClinicProfile, answer?: string): ProfileCheck {
  const specification = readSpecification(document);
  const compared = compareSpecification(specification, profile);
  return concluded(compared, profile, specification.remarks, (proposed) => {
    if (answer !== undefined) return readRows(rowsOf(answer), proposed);
    const row = compared.appointment;
    return row === null ? null : readRows([exampleRow(row)], proposed, 'document');
  });
}

/** A comparison with the profile that it proposes. */
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

function rowsOf(answer: string): readonly unknown[] {
  const body = parseJson(answer);
  const rows = rowsIn({ status: 200, body, headers: new Headers() }, 'appointments')?.rows;
  if (rows !== undefined) return rows;
  throw new MirrorError(message('rows-unreadable'), {
    actor: 'settings',
    code: 'rows-unreadable',
    retry: 'never',
    remedy: message('rows-unreadable.remedy'),
  });
}

/** One field of ours in one row: where the clinic has it, what stands there, and what the profile makes of it. Patients' values are masked. */
export interface FieldRead {
  field: string;
  /** Null: the profile finds it nowhere in the row. */
  path: string | null;
  value: string;
  read: string;
}

/** What a profile reads of some rows of appointments. */
export interface RowsRead {
  /** Whose rows: the clinic's own, or one that was made of the examples and kinds in a document. */
  of: 'clinic' | 'document';
  rows: number;
  /** Rows that can be used. */
  read: number;
  unusable: { code: string; field: string; rows: number }[];
  /** What the rows show of the profile, without a loss. */
  remarks: ReadingRemark[];
  /** Each state with what the clinic has for it. */
  statuses: { status: AppointmentStatus; values: string[]; rows: number }[];
  /** One row, field by field. */
  fields: FieldRead[];
  /** Names in that row that no field of ours is read from. */
  notRead: string[];
}

/** Rows that are looked at. */
const ROWS = 20;
/** Fields whose values say nothing of a patient; all others are masked. */
const OPEN = new Set<string>(
  'zone id agendaId locationId doctorId treatmentId priceListId start end duration allDay status confirmedAt checkedInAt cancelledAt isPaid createdAt updatedAt'.split(
    ' ',
  ),
);
/** Where a patient's values stand, also when one field was read as another. */
const OF_PATIENTS = /patient|pazient|assistit|customer|client|person|name|nome|mail|phone|telef|note/i;
/** What an id or a time looks like, and a state: a name has no digit, and a sentence has blanks. */
const ID = /^(?=.*\d)[\w.:/+ -]{1,40}$/;
const NUMBER = /^-?\d{1,4}$/;
const WORD = /^[\p{L}\d_-]{1,30}$/u;

/** Shows what a profile reads of up to 20 rows, and of one of them each field beside what the clinic has. Null without rows. */
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
 * Tells which words are shown as states: those that the profile names, numbers, and what several rows have in common. What differs from
 * row to row holds no state, and may be names.
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

/** A row as a document describes it: its examples, else a value of the kind. */
function exampleRow({ members }: ValueSchema): JsonObject {
  return Object.fromEntries(
    [...members].flatMap(([name, schema]) => {
      const value = schema.members.size > 0 ? exampleRow(schema) : exampleValue(schema);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** 20 March 2026, 10:00 in Rome. */
const EXAMPLE_SECONDS = Date.parse('2026-03-20T10:00:00+01:00') / 1_000;

function exampleValue({ example, words, epochUnit, type, format }: ValueSchema): unknown {
  if (example !== null) return example;
  if (words !== null) return type === 'integer' ? Number(words[0]) : words[0];
  if (epochUnit !== null) return epochUnit === 'ms' ? EXAMPLE_SECONDS * 1_000 : EXAMPLE_SECONDS;
  if (format === 'date-time') return '2026-03-20T10:00:00+01:00';
  if (format === 'date') return '2026-03-20';
  return type === 'boolean' ? false : undefined;
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

/** Names at the top of a row under which the profile reads nothing. */
function notReadOf(row: JsonObject, { appointments: { fields, flags, tenantId } }: ClinicProfile): string[] {
  const paths = [...Object.values(fields).flat(), ...flags.map(({ path }) => path), ...tenantId];
  const used = new Set(paths.flatMap((path) => path.split(APART).map((each) => parsePath(each)[0]?.name)));
  return Object.keys(row).filter((name) => !used.has(name));
}

function open(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && ID.test(value) ? value : masked(value);
}

/** What kind of value it is, and nothing of it. */
function masked(value: unknown): string {
  if (typeof value === 'string') return value === '' ? '(empty)' : '(text)';
  if (typeof value === 'boolean') return '(yes or no)';
  return typeof value === 'number' ? '(number)' : '(several values)';
}
