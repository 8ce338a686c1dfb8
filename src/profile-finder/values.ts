import { folded, isJsonObject } from '../clinic/http/rows.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { AppointmentStatus } from '../model/records.ts';
import { type Comparison, textOf } from './findings.ts';
import { commonNames, FLAGS, statusOfWord } from './names.ts';

/** What numbers count that are times. */
export type EpochUnit = 'seconds' | 'ms';

/** What a JSON value looks like, by a document or by samples. */
export interface ValueSchema {
  /** Null: not told. A number without a fraction is `integer`. */
  type: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | null;
  /** Such as `date-time` or `date`. */
  format: string | null;
  /** The words of an enumeration, numbers in digits; null for none. */
  words: readonly string[] | null;
  /** What the words are said to stand for. */
  labels: ReadonlyMap<string, string>;
  /** Of a number that is a time: what it counts since 1970; null for any other. */
  epochUnit: EpochUnit | null;
  /** Of an object. */
  members: ReadonlyMap<string, ValueSchema>;
  /** Of an array. */
  rows: ValueSchema | null;
  /** An example that the document gives; null for none. */
  example: string | number | boolean | null;
  description: string;
}

/** A schema of which nothing is told. */
export const UNTOLD: ValueSchema = {
  type: null,
  format: null,
  words: null,
  labels: new Map(),
  epochUnit: null,
  members: new Map(),
  rows: null,
  example: null,
  description: '',
};

/** A value in a row, by the names that lead there. */
export interface Spot {
  path: string;
  schema: ValueSchema;
}

/** Deepest object within a row whose fields are looked at. */
const DEEPEST_SPOT = 3;

/** The paths of a row that a profile can name, objects and arrays included; what is in arrays is not looked into. */
export function spotsOf(row: ValueSchema, prefix = '', depth = 1): Spot[] {
  return [...row.members].flatMap(([name, schema]) => {
    if (name === '' || /[\s.]/.test(name)) return [];
    const path = `${prefix}${name}`;
    return [{ path, schema }, ...(depth < DEEPEST_SPOT ? spotsOf(schema, `${path}.`, depth + 1) : [])];
  });
}

/** Instants from 2000 to 2100, which no count and hardly an id reaches, in seconds. */
const EPOCH_SECONDS = [946_684_800, 4_102_444_800] as const;

/** What a number counts since 1970 if it is a time of our days; null for other numbers. */
export function epochUnitOfNumber(value: number): EpochUnit | null {
  const isWithin = (number: number) => number >= EPOCH_SECONDS[0] && number <= EPOCH_SECONDS[1];
  return isWithin(value) ? 'seconds' : isWithin(value / 1_000) ? 'ms' : null;
}

/** Deepest nesting of samples that is looked at. */
const DEEPEST_SAMPLE = 6;
/** More different words than this are no enumeration. */
const MOST_WORDS = 25;
/** What a word of an enumeration looks like; anything else might be a person's name. */
const WORD = /^(?:[\p{L}][\p{L}\d_ -]{0,30}|-?\d{1,4})$/u;
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;

/**
 * What values that were seen have in common, in the terms of a document. Of texts and numbers only states and forms of times are kept.
 * @param states names of fields that hold a state, folded
 */
export function sampled(
  values: readonly unknown[],
  states: ReadonlySet<string> = new Set(commonNames('status')),
  name = '',
  depth = 0,
): ValueSchema {
  const present = values.filter((value) => value !== null && value !== undefined);
  if (present.length === 0 || depth > DEEPEST_SAMPLE) return UNTOLD;
  if (present.every(Array.isArray)) {
    const rows: unknown[] = present.flat();
    const row = rows.length === 0 ? { ...UNTOLD, type: 'object' as const } : sampled(rows, states, name, depth + 1);
    return { ...UNTOLD, type: 'array', rows: row };
  }
  const isState = states.has(folded(name));
  if (present.every(isJsonObject)) {
    const names = [...new Set(present.flatMap(Object.keys))];
    const members = names.map((each) => {
      const inner = present.map((one) => (Object.hasOwn(one, each) ? one[each] : undefined));
      return [each, sampled(inner, states, isState ? name : each, depth + 1)] as const;
    });
    return { ...UNTOLD, type: 'object', members: new Map(members) };
  }
  if (present.every((value) => typeof value === 'boolean')) return { ...UNTOLD, type: 'boolean' };
  if (present.every((value) => typeof value === 'number')) return sampledNumbers(present, isState);
  return present.every((value) => typeof value === 'string') ? sampledTexts(present, isState) : UNTOLD;
}

/** Numbers that are all times of our days, or 0 for none, count as times. */
function sampledNumbers(numbers: readonly number[], isState: boolean): ValueSchema {
  const units = new Set(numbers.filter((value) => value !== 0).map(epochUnitOfNumber));
  const [epochUnit = null] = units.size === 1 ? units : [];
  const type = numbers.every(Number.isInteger) ? 'integer' : 'number';
  return { ...UNTOLD, type, epochUnit, words: isState && type === 'integer' ? wordsOf(numbers.map(String)) : null };
}

function sampledTexts(texts: readonly string[], isState: boolean): ValueSchema {
  const time = texts.find((text) => TIME.test(text));
  const areTimes = texts.every((text) => TIME.test(text) || DATE.test(text));
  return {
    ...UNTOLD,
    type: 'string',
    format: !areTimes ? null : time === undefined ? 'date' : 'date-time',
    words: isState ? wordsOf(texts.filter((text) => WORD.test(text))) : null,
    example: areTimes ? (time ?? null) : null,
  };
}

function wordsOf(seen: readonly string[]): string[] | null {
  const words = [...new Set(seen)];
  return words.length > 0 && words.length <= MOST_WORDS ? words : null;
}

type Flag = ClinicProfile['appointments']['flags'][number];

/** Compares the words of appointments' statuses, and looks for flags that tell the statuses that no word tells. */
export function compareStatuses(
  comparison: Comparison,
  row: ValueSchema,
  profile: ClinicProfile,
  statusPath: string | null,
): void {
  const spots = spotsOf(row);
  const schema = spots.find(({ path }) => path === statusPath)?.schema;
  const words = schema?.words ?? null;
  if (statusPath !== null && words === null) {
    const ask = `what can stand in ${statusPath}, and what does each mean?`;
    comparison.add('undecided', { area: 'words', location: 'appointments.statuses (words)', there: statusPath, ask });
  }
  const { statuses } = profile.appointments;
  const meanings = (words ?? []).map((word) => meaningOf(word, statuses, schema?.labels.get(word)));
  compareMeanings(comparison, meanings);
  const found = meanings.map(({ status }) => status);
  const flags = compareFlags(comparison, spots, profile, found);
  const isCancelledSeen = [...found, ...flags.map(({ status }) => status)].includes('cancelled');
  if (isCancelledSeen || found.includes('unknown')) return;
  if (statusPath === null) askStatus(comparison, spots, profile);
  else if (words !== null) {
    const ask =
      'none of the states that are told means cancelled: which one does, or are such appointments no longer there?';
    const location = 'appointments.statuses (cancelled)';
    comparison.add('undecided', { area: 'words', location, there: words.join(', '), ask });
  }
}

interface Meaning {
  word: string;
  status: AppointmentStatus;
  /** The profile says it. */
  isNamed: boolean;
  /** What the document says that it stands for. */
  label: string | undefined;
}

/** What a state means: as the profile says, by what is known of its word, or by what the document says of it. */
function meaningOf(
  word: string,
  statuses: ClinicProfile['appointments']['statuses'],
  label: string | undefined,
): Meaning {
  const entries = Object.entries(statuses);
  const same = entries.find(([each]) => each === word) ?? entries.find(([each]) => folded(each) === folded(word));
  const guess = statusOfWord(word) ?? (label === undefined ? null : statusOfWord(label));
  return { word, status: same?.[1] ?? guess ?? 'unknown', isNamed: same !== undefined, label };
}

/** All states that were told; a line for each that the operator has to decide. */
function compareMeanings(comparison: Comparison, meanings: readonly Meaning[]): void {
  const open = meanings.filter(({ status }) => status === 'unknown');
  for (const { word, status, isNamed, label } of meanings) {
    if (status === 'unknown') continue;
    const finding = { area: 'words', location: `appointments.statuses.${word}`, there: label ?? word } as const;
    if (isNamed) comparison.add('fits', { ...finding, here: status });
    else comparison.add('differs', { ...finding, certainty: 'likely' });
  }
  if (open.length > 0) {
    const there = open.map(({ word }) => word).join(', ');
    const ask = `what does the state mean: ${there}? Until it is said, such rows stay as if booked, cancelled ones too`;
    comparison.add('undecided', { area: 'words', location: 'appointments.statuses', here: 'unknown', there, ask });
  }
  if (meanings.every(({ isNamed }) => isNamed)) return;
  const value = Object.fromEntries(meanings.map(({ word, status }) => [word, status]));
  const path = ['appointments', 'statuses'];
  comparison.changes.push({ path, value, comment: 'what the clinic tells; anything else is unknown' });
  for (const { word, status, label } of open) {
    const said = label === undefined ? '' : ` It says: ${label}.`;
    const comment = `to decide: booked, confirmed, arrived, in_progress, completed, cancelled or no_show.${said}`;
    comparison.changes.push({ path: [...path, word], value: status, comment });
  }
}

/** Asks for the status if nothing was found that tells a cancelled appointment from another, and names the fields that could. */
function askStatus(comparison: Comparison, spots: readonly Spot[], { appointments }: ClinicProfile): void {
  const few = spots.filter(
    ({ schema }) => schema.words !== null || (schema.type === 'integer' && schema.epochUnit === null),
  );
  const names = few.map(({ path }) => path).join(', ');
  const hint = names === '' ? '' : ` Few different values have: ${names}.`;
  const ask = `which field tells the state, or that an appointment is cancelled? Without one, cancelled ones stay.${hint}`;
  const here = textOf(appointments.fields.status);
  comparison.add('undecided', { area: 'words', location: 'appointments.fields.status', here, ask });
}

/** @returns the flags of the profile, or those that it should have */
function compareFlags(
  comparison: Comparison,
  spots: readonly Spot[],
  profile: ClinicProfile,
  words: readonly AppointmentStatus[],
): readonly Flag[] {
  const { flags } = profile.appointments;
  const found = FLAGS.flatMap(({ names, status, over }): Flag[] => {
    const spot = spots.find(({ path }) => !path.includes('.') && names.includes(folded(path)));
    if (spot === undefined || words.includes(status)) return [];
    return [{ path: spot.path, when: spot.schema.type === 'boolean' ? true : 'present', status, over }];
  });
  const missing = found.filter((one) => !flags.some(({ path, status }) => path === one.path && status === one.status));
  const [area, path, here] = ['words', ['appointments', 'flags'], `${flags.length} flags`] as const;
  if (missing.length === 0) {
    if (flags.length > 0)
      comparison.add('fits', { area, location: path.join('.'), here, there: `${found.length} flags` });
    return flags;
  }
  const there = missing.map((flag) => flag.path).join(', ');
  const ask = 'do these fields override the status, in this order?';
  const comment = 'statuses that no word tells; each overrides those before it';
  comparison.compare({ area, path, now: flags, wanted: found, here, there, certainty: 'likely', ask, comment });
  return found;
}
