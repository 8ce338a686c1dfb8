import { folded } from '../../clinic/http/rows.ts';
import {
  isNested,
  type NestedField,
  type ScalarField,
  type ScalarKind,
  type Shape,
} from '../../clinic/schema/fields.ts';
import { RESOURCES, type ResourceName } from '../../clinic/schema/resources.ts';
import { type Comparison, textOf } from './findings.ts';
import { commonNames, namesOfPath, WHOLE_NAMES } from './names.ts';
import { compareStatuses } from './statuses.ts';
import { type EpochUnit, type Spot, spotsOf, type ValueSchema } from './values.ts';

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

/** A shape with the location of its field paths in the profile. */
export interface ShapePaths {
  shape: Shape;
  /** Location in the profile. */
  at: readonly string[];
}

/** A match for a field. */
interface Match extends Spot {
  certainty: 'sure' | 'likely';
  /** The profile already uses this path. */
  isNamed: boolean;
}

/** Returns the profile location of a field's paths. */
function locationOf(at: readonly string[], name: string, one: ScalarField | NestedField): string[] {
  return isNested(one) ? [...at, name, 'at'] : [...at, name];
}

/** Distance between the weights of different name sources. */
const LEVEL = 1_000;
/** Names of a value within an object named after it, by type, most likely first. */
const INNER: Partial<Record<ScalarKind, readonly string[]>> = {
  id: ['id', 'uuid', 'uid', 'key', 'code', 'number'],
  word: ['code', 'key', 'value', 'id', 'name'],
  choice: ['code', 'key', 'value', 'name'],
};

/** Returns the names of a field, most likely first: its own name in other spellings, common names, and compounds with its object. */
function namesOfField(name: string, one: ScalarField | NestedField, paths: readonly string[], list: string) {
  const [own, common] = [paths.flatMap(namesOfPath), commonNames(name)];
  const inner = isNested(one) ? [] : (INNER[one.kind] ?? []);
  const thing = folded(list).replace(/ies$/, 'y').replace(/s$/, '');
  const ofThing =
    name === 'id' ? [...inner.map((last) => `${thing}${last}`), ...commonNames(`${thing}Id`), ...inner] : [];
  const built = [...own, ...common].flatMap((holder) => inner.map((last) => `${holder}${last}`));
  return [own, common, [...ofThing, ...built]];
}

/**
 * Assigns a path to each field, best score first: names in the profile precede similar names, and among equal scores the first field of the
 * shape wins.
 */
function matchFields(comparison: Comparison, { shape, at }: ShapePaths, spots: readonly Spot[]): Map<string, Match> {
  const scored = Object.entries(shape).flatMap(([name, one], order) => {
    const paths = comparison.valueAt(locationOf(at, name, one)) as readonly string[];
    const usual = paths.length > 0 ? paths : one.paths;
    const levels = namesOfField(name, one, usual, at[0] ?? '');
    return spots.flatMap((spot) => {
      const exact = usual.indexOf(spot.path);
      const weight = exact >= 0 ? Math.min(exact, 1) * LEVEL + exact : weightOf(namesOfPath(spot.path), levels);
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

/** Returns the least weight of the names. The first level starts at one level, because an exact path weighs nothing. */
function weightOf(names: readonly string[], levels: readonly (readonly string[])[]): number | null {
  const weights = levels.flatMap((level, index) =>
    names.flatMap((name) => {
      const rank = level.indexOf(name);
      return rank < 0 ? [] : [(index + 1) * LEVEL + rank];
    }),
  );
  return weights.length === 0 ? null : Math.min(...weights);
}

function fits(one: ScalarField | NestedField, { type, members, rows, epochUnit }: ValueSchema): boolean {
  if (isNested(one)) return one.kind === 'list' ? type === 'array' && rows?.type !== 'string' : members.size > 0;
  if (one.kind === 'instant' && epochUnit !== null) return true;
  return type === null || FITTING[one.kind].includes(type);
}

/** Compares the fields of a record with the profile. @returns the matches */
export function compareFields(comparison: Comparison, described: ShapePaths, row: ValueSchema): Map<string, Match> {
  const spots = spotsOf(row);
  const matches = matchFields(comparison, described, spots);
  for (const [name, one] of Object.entries(described.shape)) {
    const match = matches.get(name);
    const path = locationOf(described.at, name, one);
    const location = [...described.at, name].join('.');
    if (match === undefined) {
      const ask = !isNested(one) && one.needed ? askForField(name, spots) : null;
      comparison.compare({ area: 'fields', path, location, wanted: undefined, ask });
      continue;
    }
    const now = comparison.valueAt(path) as readonly string[];
    const { certainty, isNamed, schema } = match;
    comparison.compare({
      area: 'fields',
      path,
      location,
      wanted: isNamed ? now : [match.path],
      there: match.path,
      certainty,
      ask: certainty === 'sure' || isNested(one) ? null : `is "${match.path}" the ${name} that is meant?`,
      comment: now.length === 0 && !isNested(one) ? 'told there' : undefined,
    });
    const inner = isNested(one) && one.kind === 'list' ? schema.rows : schema;
    if (isNested(one) && inner !== null && inner.members.size > 0) {
      compareFields(comparison, { shape: one.shape, at: [...described.at, name, 'fields'] }, inner);
    }
  }
  return matches;
}

function askForField(name: string, spots: readonly Spot[]): string {
  const unfit = spots.filter(({ path }) => namesOfPath(path).some((each) => commonNames(name).includes(each)));
  const kinds = unfit.map(({ path, schema: { type } }) => ` ${path} exists, with type ${type ?? 'unknown'}.`);
  return `which field holds the ${name}? Without it, no record can be used.${kinds.join('')}`;
}

/**
 * Compares a list's record: fields, words and times.
 * @returns the units of numeric times by profile location
 */
export function compareRow(comparison: Comparison, list: ResourceName, row: ValueSchema): Map<string, EpochUnit> {
  const shape: Shape = RESOURCES[list];
  const matches = compareFields(comparison, { shape, at: [list, 'fields'] }, row);
  const spots = spotsOf(row);
  askForNames(comparison, list, spots, matches);
  compareChoices(comparison, list, matches);
  compareNumbers(comparison, list, matches);
  if (list === 'appointments') {
    compareStatuses(comparison, spots, matches.get('status') ?? null);
    compareTimes(comparison, matches);
  }
  const instants = [...matches].filter(([field]) => shape[field]?.kind === 'instant');
  return new Map(
    instants.flatMap(([field, { schema }]) =>
      schema.epochUnit === null ? [] : [[`${list}.fields.${field}`, schema.epochUnit]],
    ),
  );
}

type Matches = ReadonlyMap<string, Match>;

/** Asks for a full-name field if no field has the family name. */
function askForNames(comparison: Comparison, list: ResourceName, spots: readonly Spot[], matches: Matches): void {
  const [last, rule] = list === 'patients' ? ['lastName', 'fullName'] : ['patientLastName', 'patientFullName'];
  const isWhole = ({ path }: Spot) => WHOLE_NAMES[list]?.includes(folded(path.replaceAll('.', ''))) === true;
  const found = spots.find(isWhole);
  if (found === undefined || matches.has(last) || comparison.valueAt([list, rule]) !== null) return;
  const ask = `does ${found.path} contain the full name? Then set ${rule} to { path: ${found.path}, order: given-first }, or order: family-first`;
  comparison.compare({ area: 'fields', path: [list, rule], wanted: undefined, there: found.path, ask });
}

/** Compares the words of choices other than the status. */
function compareChoices(comparison: Comparison, list: ResourceName, matches: Matches): void {
  for (const [field, one] of Object.entries<Shape[string]>(RESOURCES[list])) {
    const { path, schema } = matches.get(field) ?? {};
    if (isNested(one) || one.words === undefined || schema?.words == null) continue;
    const at = [list, 'words', field];
    const open = new Set(schema.words);
    for (const ours of one.words) {
      const now = comparison.valueAt([...at, ours]);
      const wanted = [...open].find((word) => word === now) ?? [...open].find((word) => folded(word) === folded(ours));
      if (wanted === undefined) continue;
      open.delete(wanted);
      comparison.compare({ area: 'words', path: [...at, ours], wanted });
    }
    if (open.size === 0) continue;
    const ask = `what do "${[...open].join('", "')}" in ${path} mean, of ${one.words.join(', ')}? Until then the values are used unchanged`;
    comparison.compare({ area: 'words', path: at, wanted: undefined, here: '–', there: [...open].join(', '), ask });
  }
}

/** Writes numeric words as numbers. */
function compareNumbers(comparison: Comparison, list: ResourceName, matches: Matches): void {
  const shape: Shape = RESOURCES[list];
  const isWord = (field: string) => ['word', 'choice'].includes(shape[field]?.kind ?? '');
  const numbers = Object.keys(shape).filter((field) => isWord(field) && matches.get(field)?.schema.type === 'integer');
  const { numbers: now } = comparison.profile[list];
  const missing = numbers.filter((field) => !now.includes(field));
  if (missing.length === 0) return;
  const [there, comment] = [textOf(numbers), 'told as numbers, and written so'];
  comparison.compare({ area: 'words', path: [list, 'numbers'], wanted: [...now, ...missing], there, comment });
}

function compareTimes(comparison: Comparison, matches: Matches): void {
  const [allDay, duration] = [matches.get('allDay'), matches.get('duration')];
  if (allDay !== undefined) {
    const ask = `is the end of a record with ${allDay.path} its last day, or the day after?`;
    comparison.compare({ area: 'times', path: ['appointments', 'allDayEnd'], wanted: undefined, ask });
  }
  if (matches.has('end')) return;
  if (duration === undefined) {
    const ask = 'which field contains the end or the duration? Records without either are unusable.';
    const finding = { area: 'fields', location: 'appointments.fields.end', ask } as const;
    comparison.add('undecided', finding);
  } else if (duration.schema.type !== 'string') {
    const unit = /(sec|min)/i.exec(duration.path)?.[1];
    comparison.compare({
      area: 'times',
      path: ['appointments', 'durationUnit'],
      wanted: unit === undefined ? undefined : unit.toLowerCase() === 'sec' ? 'seconds' : 'minutes',
      there: duration.path,
      certainty: 'likely',
      ask: unit === undefined ? `does ${duration.path} count minutes or seconds?` : null,
      comment: `by the name ${duration.path}`,
    });
  }
}
