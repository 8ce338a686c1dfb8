import { folded } from '../../clinic/http/rows.ts';
import {
  isNested,
  type NestedField,
  type ScalarField,
  type ScalarKind,
  type Shape,
} from '../../clinic/schema/fields.ts';
import { type Certainty, type Compared, Comparison } from './findings.ts';
import { knownNames, namesOfPath } from './known-names.ts';
import type { ValueSchema } from './schemas.ts';

/** A place in a row, by the names that lead there. */
export interface Spot {
  path: string;
  schema: ValueSchema;
}

/** Deepest object within a row whose fields are looked at. */
const DEEPEST = 3;

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

/** The paths of a row that a profile can name, objects and arrays included; what is in arrays is not looked into. */
export function spotsOf(row: ValueSchema, prefix = '', depth = 1): Spot[] {
  return [...row.members].flatMap(([name, schema]) => {
    if (name === '' || /[\s.]/.test(name)) return [];
    const path = `${prefix}${name}`;
    const inner = schema.members.size > 0 && depth < DEEPEST ? spotsOf(schema, `${path}.`, depth + 1) : [];
    return [{ path, schema }, ...inner];
  });
}

/** Fields of an element that say which of its kind it is. */
export const SELECTORS = ['system', 'type', 'kind', 'label', 'tipo'];

/** Paths into lists: the first element, or the one whose field says that it is of a kind that was seen. */
function spotsInLists(row: ValueSchema, prefix = '', depth = 1): Spot[] {
  return [...row.members].flatMap(([name, schema]) => {
    if (name === '' || /[\s.[\]=]/.test(name)) return [];
    const path = `${prefix}${name}`;
    if (schema.type !== 'array') return depth < DEEPEST ? spotsInLists(schema, `${path}.`, depth + 1) : [];
    if (schema.rows === null || schema.rows.members.size === 0)
      return schema.rows ? [{ path: `${path}[]`, schema: schema.rows }] : [];
    const members = [...schema.rows.members].filter(([member]) => !/[\s.[\]=]/.test(member));
    const kinds = members.flatMap(([member, { words }]) =>
      SELECTORS.includes(member.toLowerCase()) ? (words ?? []).map((word) => `${member}=${word}`) : [],
    );
    return [...kinds, ''].flatMap((kind) =>
      members.map(([member, inner]) => ({ path: `${path}[${kind}].${member}`, schema: inner })),
    );
  });
}

/** A shape of ours, and where the profile says that its fields are. */
export interface ShapePlace {
  shape: Shape;
  /** The profile's `fields` of it. */
  fields: object;
  /** Where that is in the profile. */
  at: readonly string[];
}

/**
 * Compares the fields of a row with those that a profile names: by the names there, by the same name in another spelling, by
 * names that are known, and, for fields that a row can't be read without, by being the only one of its kind.
 */
export function compareFields(place: ShapePlace, row: ValueSchema): Compared {
  const comparison = new Comparison();
  const spots = [...spotsOf(row), ...spotsInLists(row)];
  const found = matchAll(place, spots);
  for (const [name, one] of Object.entries(place.shape)) {
    const at = [...place.at, name];
    const where = (place.fields as Record<string, unknown>)[name];
    const match = found.get(name) ?? null;
    if (isNested(one)) compareNested(comparison, one, { at, where: where as NestedPaths, match });
    else compareScalar(comparison, one, { at, paths: where as readonly string[], match, spots });
  }
  return comparison;
}

interface NestedPaths {
  at: readonly string[];
  fields: object;
}

/** A spot that was found for a field. */
interface Match extends Spot {
  certainty: Certainty;
  /** Whether the profile names it already. */
  isNamed: boolean;
}

/** One field after the other takes its spot, in rounds: what is named by the profile goes before what only sounds alike. */
function matchAll({ shape, fields, at }: ShapePlace, spots: Spot[]): Map<string, Match> {
  const matches = new Map<string, Match>();
  const taken = new Set<string>();
  const take = (
    round: (field: Candidate) => Omit<Match, 'certainty' | 'isNamed'> | undefined,
    certainty: Certainty,
  ) => {
    for (const [name, one] of Object.entries(shape)) {
      if (matches.has(name)) continue;
      const where = (fields as Record<string, unknown>)[name];
      const paths = isNested(one) ? (where as NestedPaths).at : (where as readonly string[]);
      const usual = paths.length > 0 ? paths : one.paths;
      const free = spots.filter((spot) => !taken.has(spot.path) && fits(one, spot.schema));
      const spot = round({ name, one, paths: usual, free });
      if (spot === undefined) continue;
      matches.set(name, { ...spot, certainty, isNamed: paths.includes(spot.path) });
      taken.add(spot.path);
    }
  };
  const exactly = (free: Spot[], path: string) => free.find((spot) => spot.path === path);
  const inOtherSpelling = (free: Spot[], path: string) => firstOf(namesOfPath(path), (name) => named(free, name));
  take(({ paths, free }) => exactly(free, paths[0] ?? ''), 'sure');
  take(({ paths, free }) => firstOf(paths, (path) => exactly(free, path) ?? inOtherSpelling(free, path)), 'sure');
  take(({ name, free }) => firstOf(knownNames(name), (known) => named(free, known)), 'likely');
  take((field) => best(field, at[0] ?? ''), 'likely');
  take(({ one, free }) => onlyOfItsKind(one, free), 'guess');
  take((field) => best(field, at[0] ?? '', 'guess'), 'guess');
  return matches;
}

interface Candidate {
  name: string;
  one: ScalarField | NestedField;
  paths: readonly string[];
  free: Spot[];
}

function firstOf<Value>(names: readonly string[], find: (name: string) => Value | undefined): Value | undefined {
  for (const name of names) {
    const value = find(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

function named(spots: Spot[], name: string): Spot | undefined {
  return spots.find((spot) => namesOfPath(spot.path).includes(name));
}

function fits(one: ScalarField | NestedField, { type, members, rows, epochUnit }: ValueSchema): boolean {
  if (isNested(one)) return one.kind === 'list' ? type === 'array' && rows?.type !== 'string' : members.size > 0;
  if (one.kind === 'instant' && epochUnit !== null) return true;
  return type === null || FITTING[one.kind].includes(type);
}

/** What a value is called within an object that is named for it, by kind, the likeliest first. */
const INNER: Partial<Record<ScalarKind, readonly string[]>> = {
  id: ['id', 'uuid', 'uid', 'key', 'code', 'number'],
  word: ['code', 'key', 'value', 'id', 'name'],
  choice: ['code', 'key', 'value', 'name'],
};
/** What an id is called beside the name of its thing. */
const IDS = ['id', 'uid', 'uuid', 'guid', 'key', 'number', 'code', 'no', 'nr', 'ref', 'pk'];
/** Parts of names that speak of a field, where nothing else is alike. */
const PARTS: Readonly<Record<string, RegExp>> = {
  id: /(id|uid|key|number|code|ref|codice|numero|chiave)$/,
  duration: /durat|durata|minut|length|lasts|seconds|lunghezza/,
};

/** The place that scores best for a field: by names built of its thing, or of the object that holds it; for a guess by a part of a name. */
function best({ name, one, paths, free }: Candidate, list: string, how: 'name' | 'guess' = 'name'): Spot | undefined {
  if (isNested(one)) return undefined;
  if (how === 'guess')
    return PARTS[name] === undefined || !(one.needed || name === 'duration') ? undefined : partly(free, PARTS[name]);
  const thing = folded(list).replace(/ies$/, 'y').replace(/s$/, '');
  const known = [...paths.flatMap(namesOfPath), ...knownNames(name)];
  const own = name === 'id' ? [...IDS.map((last) => `${thing}${last}`), ...knownNames(`${thing}Id`), ...IDS] : [];
  const within = known.flatMap((holder) => (INNER[one.kind] ?? []).map((last) => `${holder}${last}`));
  return firstOf([...own, ...within], (each) => named(free, each));
}

function partly(free: Spot[], part: RegExp): Spot | undefined {
  return free.find(
    ({ path, schema }) =>
      !path.includes('.') && schema.format === null && schema.epochUnit === null && part.test(folded(path)),
  );
}

function onlyOfItsKind(one: ScalarField | NestedField, free: Spot[]): Spot | undefined {
  if (isNested(one) || !one.needed || one.kind !== 'instant') return undefined;
  const alike = free.filter(({ schema }) => schema.format === 'date-time' || schema.epochUnit !== null);
  return alike.length === 1 ? alike[0] : undefined;
}

function compareScalar(
  comparison: Comparison,
  one: ScalarField,
  { at, paths, match, spots }: { at: readonly string[]; paths: readonly string[]; match: Match | null; spots: Spot[] },
) {
  const told = { area: 'fields', place: at.join('.'), here: listed(paths), there: match?.path ?? '–' } as const;
  if (match?.isNamed === true) return comparison.fits(told);
  if (match !== null) {
    const certainty = match.certainty;
    const ask = certainty === 'sure' ? null : `is "${match.path}" the ${at.at(-1)} that is meant?`;
    const comment = paths.length === 0 ? 'told there' : `not ${listed(paths)}`;
    return comparison.differs({ ...told, certainty, ask }, { path: at, value: [match.path], comment });
  }
  if (one.needed) {
    const name = at.at(-1) ?? '';
    const unfit = spots.filter(({ path }) => namesOfPath(path).some((each) => knownNames(name).includes(each)));
    const kinds = unfit.map(({ path, schema }) => ` ${path} is there, as ${schema.type ?? 'something else'}.`).join('');
    return comparison.undecided({
      ...told,
      ask: `which field holds the ${name}? No row can be used without it.${kinds}`,
    });
  }
  comparison.absent(told);
}

function compareNested(
  comparison: Comparison,
  one: NestedField,
  { at, where, match }: { at: readonly string[]; where: NestedPaths; match: Match | null },
) {
  const told = { area: 'fields', place: at.join('.'), here: listed(where.at), there: match?.path ?? '–' } as const;
  if (match === null) return comparison.absent(told);
  const { certainty } = match;
  if (match.isNamed) comparison.fits(told);
  else {
    const comment = `not ${listed(where.at)}`;
    comparison.differs({ ...told, certainty }, { path: [...at, 'at'], value: [match.path], comment });
  }
  const inner = one.kind === 'list' ? match.schema.rows : match.schema;
  if (inner === null || inner.members.size === 0) return;
  comparison.add(compareFields({ shape: one.shape, fields: where.fields, at: [...at, 'fields'] }, inner));
}

function listed(paths: readonly string[]): string {
  return paths.length === 0 ? '(none)' : paths.join(', ');
}
