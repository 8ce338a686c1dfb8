import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import { type JsonObject, parsePath, setAtPath, valueAt } from '../../described-api/paths.ts';
import { compilePaths } from '../http/rows.ts';
import { durationIn } from '../read/appointment-rows.ts';
import { splitInterval } from '../read/intervals.ts';
import { compileFullName, splitName } from '../read/records.ts';
import type { FullName, Shape } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import type { ResourceName } from '../schema/resources.ts';
import { badValue, type RecordWriter } from './writing.ts';

type Values = Record<string, unknown>;
type Writer = RecordWriter<Shape>;
type Paths = Readonly<Record<string, readonly string[]>>;
/** Compiles the writer of the resource, with other paths for some fields. */
type CompileWriter = (changed: Paths) => Writer;

/** Members that hold the ends of an interval until they are joined. */
const ENDS = { start: 'interval:start', end: 'interval:end' } as const;
const CLOCK = /^\d{1,2}:\d\d/;

/**
 * Wraps the writer of a resource so that texts with several values are written as they are read: full names, intervals, and durations with
 * units. An existing record keeps its form.
 */
export function withTextForms(profile: ClinicProfile, name: ResourceName, compile: CompileWriter): Writer {
  if (name === 'patients') {
    const { fullName, fields } = profile.patients;
    return withFullName({ rule: fullName, fields, first: 'firstName', last: 'lastName' }, profile, compile({}));
  }
  if (name !== 'appointments') return compile({});
  const { patientFullName: rule, fields } = profile.appointments;
  const whole = withDuration(profile, withInterval(profile, compile));
  return withFullName({ rule, fields, first: 'patientFirstName', last: 'patientLastName' }, profile, whole);
}

/** The rule for full names, and the fields of the two names. */
interface NameFields {
  rule: FullName | null;
  fields: Paths;
  first: string;
  last: string;
}

function withFullName({ rule, fields, first, last }: NameFields, profile: ClinicProfile, write: Writer): Writer {
  if (rule === null) return write;
  const [firstIn, lastIn] = [compilePaths(fields[first] ?? []), compilePaths(fields[last] ?? [])];
  const isSeparate = (base: JsonObject) => (firstIn(base) ?? lastIn(base)) !== null;
  const hasOwnFields = (fields[first] ?? []).length + (fields[last] ?? []).length > 0;
  const namesIn = compileFullName(rule, profile);
  return (values: Values, base = {}, sites) => {
    const { [first]: firstName, [last]: lastName, ...rest } = values;
    if (firstName === undefined && lastName === undefined) return write(values as never, base, sites);
    const isWhole = (valueAt(base, rule.path) ?? '') !== '' ? !isSeparate(base) : !hasOwnFields;
    if (!isWhole) return write(values as never, base, sites);
    const before = namesIn(base, { firstName: null, lastName: null });
    const names = {
      firstName: textOf(firstName, before.firstName, first),
      lastName: textOf(lastName, before.lastName, last),
    };
    const target = write(rest as never, base, sites);
    setAtPath(target, parsePath(rule.path), joinedName(names, rule, last));
    return target;
  };
}

function textOf(value: unknown, before: string | null, field: string): string | null {
  if (value === undefined) return before;
  return value === null || typeof value === 'string' ? value : badValue(field);
}

/** Joins two names so that they are read back unchanged: with the separator if the order of the words is not enough. */
function joinedName(
  { firstName, lastName }: ReturnType<typeof splitName>,
  rule: FullName,
  field: string,
): string | null {
  const names = [firstName, lastName].filter((name) => name !== null);
  const words = rule.order === 'given-first' ? names : names.toReversed();
  if (words.length === 0) return null;
  const forms = [words.join(' '), `${lastName ?? ''}${rule.separator} ${firstName ?? ''}`.trim()];
  const isRead = (text: string) => {
    const read = splitName(text, rule);
    return read.firstName === firstName && read.lastName === lastName;
  };
  return forms.find(isRead) ?? badValue(field);
}

/** Writes a start and an end into one text if the record has an interval, or if the profile names one path for both. */
function withInterval(profile: ClinicProfile, compile: CompileWriter): Writer {
  const { fields } = profile.appointments;
  const [path] = fields.start;
  const [write, writeEnds] = [compile({}), compile({ start: [ENDS.start], end: [ENDS.end] })];
  return (values: Values, base = {}, sites) => {
    const before = path === undefined ? null : splitInterval(valueAt(base, path));
    const isOne = before !== null || (path !== undefined && fields.end[0] === path);
    if (path === undefined || !isOne || (values.start === undefined && values.end === undefined)) {
      return write(values as never, base, sites);
    }
    const { [ENDS.start]: start, [ENDS.end]: end, ...target } = writeEnds(values as never, base, sites);
    const first = start ?? before?.start ?? badValue('start');
    setAtPath(target, parsePath(path), `${first}/${end ?? before?.duration ?? before?.end ?? badValue('end')}`);
    return target;
  };
}

/** Writes a duration with units if the record has one, or if the profile says so. */
function withDuration({ appointments, writes }: ClinicProfile, write: Writer): Writer {
  const { fields, durationUnit } = appointments;
  const [path] = fields.duration;
  const durationOf = compilePaths(fields.duration);
  return (values: Values, base = {}, sites) => {
    const before = durationOf(base);
    const isText = typeof before === 'string' && durationIn(before.trim()) !== null;
    const usual = isText ? (CLOCK.test(before.trim()) ? 'clock' : 'iso') : writes.durations;
    const form = before === null || before === '' || isText ? usual : 'number';
    const target = write(values as never, base, sites);
    if (path === undefined || form === 'number' || values.duration === undefined || values.duration === null) {
      return target;
    }
    const durationMs = Number(values.duration) * (durationUnit === 'minutes' ? MINUTE_MS : SECOND_MS);
    setAtPath(target, parsePath(path), durationText(durationMs, form));
    return target;
  };
}

function durationText(durationMs: number, form: 'iso' | 'clock'): string {
  const seconds = Math.round(durationMs / SECOND_MS);
  if (seconds < 0 || (form === 'clock' && durationMs >= DAY_MS)) return badValue('duration');
  const [hours, minutes, rest] = [
    Math.floor((seconds * SECOND_MS) / HOUR_MS),
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  if (form === 'clock') {
    const two = (part: number) => String(part).padStart(2, '0');
    return `${two(hours)}:${two(minutes)}${rest === 0 ? '' : `:${two(rest)}`}`;
  }
  const parts = [hours > 0 ? `${hours}H` : '', minutes > 0 ? `${minutes}M` : '', rest > 0 ? `${rest}S` : ''].join('');
  return `PT${parts === '' ? '0M' : parts}`;
}
