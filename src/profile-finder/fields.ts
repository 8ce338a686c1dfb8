import { folded } from '../clinic/http/rows.ts';
import {
  type FieldPaths,
  isNested,
  type NestedField,
  type ScalarField,
  type ScalarKind,
  type Shape,
} from '../clinic/schema/fields.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { RESOURCES, type ResourceName } from '../clinic/schema/resources.ts';
import { type Comparison, textOf } from './findings.ts';
import { CHOICE_WORDS, commonNames, namesOfPath, WHOLE_NAMES } from './names.ts';
import { compareStatuses, type EpochUnit, type Spot, spotsOf, type ValueSchema } from './values.ts';

const FITTING: Readonly<Record<ScalarKind, readonly ValueSchema['type'][]>> = {
  id: ['string', 'integer', 'number'],
  text: ['string'],
  word: ['string', 'integer'],
  choice: ['string', 'integer'],
  flag: ['boolean', 'integer'],
  whole: ['integer', 'number', 'string'],
  decimal: ['number', 'integer', 'string'],
  date: ['string'],
  instant: ['string'],
};

/** A shape of ours, and where the profile says that its fields are. */
export interface ShapePaths {
  shape: Shape;
  /** The profile's `fields` of it. */
  fields: object;
  /** Where that is in the profile. */
  at: readonly string[];
}

interface NestedPaths {
  at: readonly string[];
  fields: object;
}

/** A spot that was found for a field. */
interface Match extends Spot {
  certainty: 'sure' | 'likely';
  /** Whether the profile names it already. */
  isNamed: boolean;
}

/** The paths of a field in the profile. */
function pathsOf(fields: object, name: string, one: ScalarField | NestedField): readonly string[] {
  const where = (fields as Record<string, unknown>)[name];
  return isNested(one) ? (where as NestedPaths).at : (where as readonly string[]);
}

/** Between the weights of names of different sources. */
const LEVEL = 1_000;
/** What a value is called within an object that is named for it, by kind, the likeliest first. */
const INNER: Partial<Record<ScalarKind, readonly string[]>> = {
  id: ['id', 'uuid', 'uid', 'key', 'code', 'number'],
  word: ['code', 'key', 'value', 'id', 'name'],
  choice: ['code', 'key', 'value', 'name'],
};
/** What an id is called beside the name of its thing. */
const IDS = ['id', 'uid', 'uuid', 'guid', 'key', 'number', 'code', 'no', 'nr', 'ref', 'pk'];

/** The names of a field with their weights, the least the likeliest: its own in other spellings, known ones, and those built of its thing. */
function weightsOf(name: string, one: ScalarField | NestedField, paths: readonly string[], list: string) {
  const own = paths.flatMap(namesOfPath);
  const expected = commonNames(name);
  const built: string[] = [];
  if (!isNested(one)) {
    const thing = folded(list).replace(/ies$/, 'y').replace(/s$/, '');
    if (name === 'id') built.push(...IDS.map((last) => `${thing}${last}`), ...commonNames(`${thing}Id`), ...IDS);
    const holders = [...own, ...expected];
    built.push(...holders.flatMap((holder) => (INNER[one.kind] ?? []).map((last) => `${holder}${last}`)));
  }
  const weighted = [own, expected, built].flatMap((names, level) =>
    names.map((each, rank) => [each, (level + 1) * LEVEL + rank] as const),
  );
  return new Map(weighted.reverse());
}

/**
 * Finds the spot of each field of a row. The best score takes its spot first: names of the profile go before what only sounds alike, and
 * of those alike the field that comes first in the shape.
 */
function matchFields({ shape, fields, at }: ShapePaths, spots: readonly Spot[]): Map<string, Match> {
  const named = spots.map((spot) => ({ spot, names: namesOfPath(spot.path) }));
  const scored = Object.entries(shape).flatMap(([name, one], order) => {
    const paths = pathsOf(fields, name, one);
    const usual = paths.length > 0 ? paths : one.paths;
    const weights = weightsOf(name, one, usual, at[0] ?? '');
    return named.flatMap(({ spot, names }) => {
      const exact = usual.indexOf(spot.path);
      const weight = exact >= 0 ? Math.min(exact, 1) * LEVEL + exact : weightOf(names, weights);
      if (weight === null || !fits(one, spot.schema)) return [];
      return [{ name, spot, order, weight, level: Math.floor(weight / LEVEL), isNamed: paths.includes(spot.path) }];
    });
  });
  scored.sort((one, other) => one.level - other.level || one.order - other.order || one.weight - other.weight);
  const matches = new Map<string, Match>();
  const taken = new Set<string>();
  for (const { name, spot, level, isNamed } of scored) {
    if (matches.has(name) || taken.has(spot.path)) continue;
    matches.set(name, { ...spot, certainty: level < 2 ? 'sure' : 'likely', isNamed });
    taken.add(spot.path);
  }
  return matches;
}

function weightOf(names: readonly string[], weights: ReadonlyMap<string, number>): number | null {
  const found = names.flatMap((name) => weights.get(name) ?? []);
  return found.length === 0 ? null : Math.min(...found);
}

function fits(one: ScalarField | NestedField, { type, members, rows, epochUnit }: ValueSchema): boolean {
  if (isNested(one)) return one.kind === 'list' ? type === 'array' && rows?.type !== 'string' : members.size > 0;
  if (one.kind === 'instant' && epochUnit !== null) return true;
  return type === null || FITTING[one.kind].includes(type);
}

/** Compares the fields of a row with those that a profile names. */
export function compareFields(comparison: Comparison, location: ShapePaths, row: ValueSchema): void {
  const spots = spotsOf(row);
  reportFields(comparison, location, matchFields(location, spots), spots);
}

function reportFields(
  comparison: Comparison,
  { shape, fields, at }: ShapePaths,
  matches: ReadonlyMap<string, Match>,
  spots: readonly Spot[],
): void {
  for (const [name, one] of Object.entries(shape)) {
    const match = matches.get(name);
    const now = pathsOf(fields, name, one);
    const location = [...at, name].join('.');
    if (match !== undefined) {
      const path = isNested(one) ? [...at, name, 'at'] : [...at, name];
      const wanted = match.isNamed ? now : [match.path];
      const { certainty } = match;
      const ask = certainty === 'sure' || isNested(one) ? null : `is "${match.path}" the ${name} that is meant?`;
      const comment = now.length === 0 && !isNested(one) ? 'told there' : `not ${textOf(now)}`;
      comparison.compare({
        area: 'fields',
        path,
        location,
        now,
        wanted,
        there: match.path,
        certainty,
        ask,
        comment,
      });
      const inner = isNested(one) && one.kind === 'list' ? match.schema.rows : match.schema;
      if (isNested(one) && inner !== null && inner.members.size > 0) {
        const within = (fields as Record<string, NestedPaths>)[name]?.fields ?? {};
        compareFields(comparison, { shape: one.shape, fields: within, at: [...at, name, 'fields'] }, inner);
      }
    } else if (!isNested(one) && one.needed) {
      const unfit = spots.filter(({ path }) => namesOfPath(path).some((each) => commonNames(name).includes(each)));
      const kinds = unfit.map(({ path, schema: { type } }) => ` ${path} is there, as ${type ?? 'something else'}.`);
      const ask = `which field holds the ${name}? No row can be used without it.${kinds.join('')}`;
      comparison.add('undecided', { area: 'fields', location, here: textOf(now), ask });
    } else comparison.add('absent', { area: 'fields', location, here: textOf(now) });
  }
}

/**
 * Compares a row of a list: its fields, its words and its times.
 * @returns the units of times that are numbers, by their places in the profile
 */
export function compareRow(
  comparison: Comparison,
  list: ResourceName,
  row: ValueSchema,
  profile: ClinicProfile,
): Map<string, EpochUnit> {
  const shape: Shape = RESOURCES[list];
  const location = { shape, fields: profile[list].fields as FieldPaths<Shape>, at: [list, 'fields'] };
  const spots = spotsOf(row);
  const matches = matchFields(location, spots);
  const { [compareWholeName(comparison, profile, list, { matches, spots }) ?? '']: _whole, ...others } = shape;
  reportFields(comparison, { ...location, shape: others }, matches, spots);
  compareChoices(comparison, list, profile, matches);
  compareNumbers(comparison, list, profile, matches);
  if (list === 'appointments') {
    compareStatuses(comparison, row, profile, matches.get('status')?.path ?? null);
    compareTimes(comparison, profile, matches);
  }
  const instants = [...matches].filter(([field]) => shape[field]?.kind === 'instant');
  return new Map(
    instants.flatMap(([field, { schema }]) =>
      schema.epochUnit === null ? [] : [[`${list}.fields.${field}`, schema.epochUnit]],
    ),
  );
}

/** If the rows of a list have the name of a patient in one field: its two parts, and the rule for it. */
const NAME_RULES = {
  patients: { first: 'firstName', last: 'lastName', rule: 'fullName' },
  appointments: { first: 'patientFirstName', last: 'patientLastName', rule: 'patientFullName' },
} as const;

/**
 * A name in one field is proposed whole if a row has no two, and is not taken for the given name; nothing tells its order.
 * @returns the field of the given name then
 */
function compareWholeName(
  comparison: Comparison,
  profile: ClinicProfile,
  list: ResourceName,
  { matches, spots }: { matches: Map<string, Match>; spots: readonly Spot[] },
): string | null {
  if (list !== 'patients' && list !== 'appointments') return null;
  const { first, last, rule } = NAME_RULES[list];
  const isWhole = ({ path }: Spot) => WHOLE_NAMES[list].includes(folded(path.replaceAll('.', '')));
  const now = list === 'patients' ? profile.patients.fullName : profile.appointments.patientFullName;
  const firstName = matches.get(first);
  const isApart = firstName !== undefined && (firstName.isNamed || !isWhole(firstName));
  const found = spots.find(isWhole);
  if (now !== null || matches.has(last) || isApart || found === undefined) return null;
  comparison.compare({
    area: 'fields',
    path: [list, rule],
    now,
    wanted: { path: found.path, order: 'given-first', separator: ',' },
    there: found.path,
    certainty: 'likely',
    ask: `does ${found.path} begin with the given name (taken so) or with the family name?`,
    comment: 'one field for the whole name',
  });
  matches.delete(first);
  return first;
}

/** Compares the words of a resource's choices other than the status. */
function compareChoices(
  comparison: Comparison,
  list: ResourceName,
  profile: ClinicProfile,
  matches: ReadonlyMap<string, Match>,
): void {
  for (const [field, one] of Object.entries<Shape[string]>(RESOURCES[list])) {
    const { path, schema } = matches.get(field) ?? {};
    if (isNested(one) || one.words === undefined || schema?.words == null) continue;
    const { words } = schema;
    const open = new Set(words);
    for (const ours of one.words) {
      const now = (profile[list].words as Record<string, Record<string, string | null>>)[field]?.[ours] ?? null;
      const expected = [folded(ours), ...(CHOICE_WORDS[ours] ?? [])];
      const wanted =
        words.find((word) => word === now) ?? words.find((word) => expected.includes(folded(word))) ?? null;
      if (wanted !== null) open.delete(wanted);
      const comment = wanted === null ? 'it has no such word' : undefined;
      const certainty = wanted === null || folded(wanted) === folded(ours) ? 'sure' : 'likely';
      comparison.compare({ area: 'words', path: [list, 'words', field, ours], now, wanted, comment, certainty });
    }
    for (const there of open) {
      const ask = `what does "${there}" mean in ${path}? It is kept as it is.`;
      comparison.add('undecided', { area: 'words', location: `${list}.words.${field}`, there, ask });
    }
  }
}

/** Words that are numbers are written as numbers too. */
function compareNumbers(
  comparison: Comparison,
  list: ResourceName,
  profile: ClinicProfile,
  matches: ReadonlyMap<string, Match>,
): void {
  const shape: Shape = RESOURCES[list];
  const isWord = (field: string) => ['word', 'choice'].includes(shape[field]?.kind ?? '');
  const numbers = Object.keys(shape).filter((field) => isWord(field) && matches.get(field)?.schema.type === 'integer');
  const { numbers: now } = profile[list];
  const missing = numbers.filter((field) => !now.includes(field));
  if (missing.length === 0) return;
  const [there, comment] = [textOf(numbers), 'told as numbers, and written so'];
  comparison.compare({ area: 'words', path: [list, 'numbers'], now, wanted: [...now, ...missing], there, comment });
}

function compareTimes(
  comparison: Comparison,
  { appointments }: ClinicProfile,
  matches: ReadonlyMap<string, Match>,
): void {
  const [allDay, duration] = [matches.get('allDay'), matches.get('duration')];
  if (allDay !== undefined) {
    const ask = `does the end of a row with ${allDay.path} name its last day, or the day after it?`;
    comparison.add('undecided', {
      area: 'times',
      location: 'appointments.allDayEnd',
      here: appointments.allDayEnd,
      ask,
    });
  }
  if (duration === undefined && !matches.has('end')) {
    const ask = 'which field holds the end or the duration? No row can be used without one.';
    comparison.add('undecided', { area: 'fields', location: 'appointments.fields.end', ask });
  }
  if (duration === undefined || !/sec/i.test(duration.path) || appointments.durationUnit === 'seconds') return;
  comparison.compare({
    area: 'times',
    path: ['appointments', 'durationUnit'],
    now: appointments.durationUnit,
    wanted: 'seconds',
    there: duration.path,
    certainty: 'likely',
    comment: `by the name ${duration.path}`,
  });
}
