import { z } from 'zod';
import { path, paths, timePath } from '../../described-api/path-schemas.ts';

/**
 * Kind of a field's value:
 * - `id`: an opaque string; a whole number is converted to digits;
 * - `text`: unchanged; `word`: one of an open enumeration, in the clinic's spelling;
 * - `choice`: one of clinic-mirror's words, which a profile may spell differently; an unmapped word keeps the clinic's spelling;
 * - `flag`, `whole`: true or false, a whole number;
 * - `decimal`: money and quantities as decimal text such as `125.12`, never a binary float;
 * - `date`: `YYYY-MM-DD`; `instant`: epoch ms.
 */
export type ScalarKind = 'id' | 'text' | 'word' | 'choice' | 'flag' | 'whole' | 'decimal' | 'date' | 'instant';

/** A single value, and its usual path. A row without a required value is unusable. */
export interface ScalarField<Kind extends ScalarKind = ScalarKind, Needed extends boolean = boolean> {
  kind: Kind;
  needed: Needed;
  paths: readonly string[];
  /** For a `choice`: clinic-mirror's words. */
  words?: readonly string[];
  /** Rows may contain a list; the first value applies. */
  isFirstOfList?: true;
}

/** Rows within a row: one (`record`) or several (`list`). */
export interface NestedField<Kind extends 'record' | 'list' = 'record' | 'list', Inner extends Shape = Shape> {
  kind: Kind;
  shape: Inner;
  paths: readonly string[];
}

/** Returns whether a field contains rows. */
export function isNested(one: ScalarField | NestedField): one is NestedField {
  return one.kind === 'record' || one.kind === 'list';
}

/** Fields of one resource by clinic-mirror's names, for reads, writes and comparison with a specification. */
export interface Shape {
  readonly [name: string]: ScalarField | NestedField;
}

interface Scalars {
  id: string;
  text: string;
  word: string;
  choice: string;
  flag: boolean;
  whole: number;
  decimal: string;
  date: string;
  instant: number;
}

type ValueOf<Field> =
  Field extends NestedField<'list', infer Inner>
    ? RecordOf<Inner>[]
    : Field extends NestedField<'record', infer Inner>
      ? RecordOf<Inner> | null
      : Field extends ScalarField<infer Kind, infer Needed>
        ? Scalars[Kind] | (Needed extends true ? never : null)
        : never;

/** A record of a resource, with clinic-mirror's names and types. */
export type RecordOf<Described extends Shape> = { [Name in keyof Described]: ValueOf<Described[Name]> };

/** A profile's paths for the fields of a resource, tried in order. */
export type FieldPaths<Described extends Shape> = {
  [Name in keyof Described]: Described[Name] extends NestedField<'record' | 'list', infer Inner>
    ? { at: readonly string[]; fields: FieldPaths<Inner> }
    : readonly string[];
};

function scalar<Kind extends ScalarKind>(kind: Kind) {
  return (...paths: string[]): ScalarField<Kind, false> => ({ kind, needed: false, paths });
}

/** Builders of fields; their arguments are the usual paths. */
export const field = {
  id: scalar('id'),
  text: scalar('text'),
  word: scalar('word'),
  choice: (words: readonly string[], ...paths: string[]): ScalarField<'choice', false> => ({
    kind: 'choice',
    needed: false,
    paths,
    words,
  }),
  flag: scalar('flag'),
  whole: scalar('whole'),
  decimal: scalar('decimal'),
  date: scalar('date'),
  instant: scalar('instant'),
  needed: <Kind extends ScalarKind>(one: ScalarField<Kind, false>): ScalarField<Kind, true> => ({
    ...one,
    needed: true,
  }),
  first: (one: ScalarField<'id', false>): ScalarField<'id', false> => ({ ...one, isFirstOfList: true }),
  record: <Inner extends Shape>(shape: Inner, ...paths: string[]): NestedField<'record', Inner> => ({
    kind: 'record',
    shape,
    paths,
  }),
  list: <Inner extends Shape>(shape: Inner, ...paths: string[]): NestedField<'list', Inner> => ({
    kind: 'list',
    shape,
    paths,
  }),
} as const;

const timePaths = z
  .array(timePath)
  .max(10)
  .describe(
    'Paths, in order of preference. The first path with a value applies. `[]`: no value. For separate date and time fields: `day + begin`.',
  );

/** Schema of an object whose every key has a default. */
export type Defaulted<Output> = z.ZodPrefault<z.ZodType<Output, object>>;

/** Schema of the paths of a resource's fields in a profile, the usual ones as defaults. */
export function fieldPaths<Described extends Shape>(described: Described): Defaulted<FieldPaths<Described>> {
  const keys = Object.entries(described).map(([name, one]) => [name, schemaOf(one)] as const);
  return z.strictObject(Object.fromEntries(keys)).prefault({}) as unknown as Defaulted<FieldPaths<Described>>;
}

function schemaOf(one: ScalarField | NestedField): z.ZodType {
  if (!isNested(one)) return (one.kind === 'instant' ? timePaths : paths).default([...one.paths]);
  return z.strictObject({ at: paths.default([...one.paths]), fields: fieldPaths<Shape>(one.shape) }).prefault({});
}

/** A system's spelling of a resource's choices: field → clinic-mirror's word → the clinic's word, or null if the clinic lacks the word. */
export type ChoiceWords = Readonly<Record<string, Readonly<Record<string, string | null>>>>;

/** Schema of a resource's words in a profile; clinic-mirror's words are the defaults. */
export function choiceWords(described: Shape): Defaulted<ChoiceWords> {
  const word = z.string().min(1).nullable();
  const fields = Object.entries(described).flatMap(([name, one]) => {
    if (isNested(one) || one.words === undefined) return [];
    const words = one.words.map((each) => [each, word.default(each)] as const);
    return [[name, z.strictObject(Object.fromEntries(words)).prefault({})] as const];
  });
  return z
    .strictObject(Object.fromEntries(fields))
    .prefault({})
    .describe(
      "Translation of clinic-mirror's value to the clinic's value. `null`: the clinic does not have this value, and clinic-mirror refuses to write the value.",
    ) as unknown as Defaulted<ChoiceWords>;
}

/** Schema for a full name in one field, and the order of its parts. */
export const fullName = z
  .strictObject({
    path,
    order: z.enum(['given-first', 'family-first']).describe('`Mario De Luca` or `De Luca Mario`.'),
    separator: z.string().min(1).default(',').describe('Separator after the family name, as in `Rossi, Mario`.'),
  })
  .nullable()
  .default(null)
  .describe(
    'Field with the full name, split if a record has neither first nor last name. `null`: records have no full name.',
  );

/** A profile's rule for full names. */
export type FullName = NonNullable<z.infer<typeof fullName>>;
