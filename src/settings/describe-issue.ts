import type { z } from 'zod';
import { atOnce, type Pieces } from '../core/model/pieces.ts';
import { didYouMean } from '../core/model/text.ts';
import { message, type Text, textOfIssue, withRemedy } from '../messages/message.ts';
import { allowedKeys } from './common-schemas.ts';
import { type ConfigurationFault, faultIn } from './faults.ts';
import { keysAt, valueAt, type YamlFile } from './yaml-file.ts';
import type { ValuePath } from './yaml-parser.ts';

type Issue = z.core.$ZodIssue;

/** Keys with values that are never shown. */
const SECRET_KEY = /secret|passw|pwd|credential|private|authorization|token$|key(s|file)?$|^url$/i;
const LONGEST_SHOWN = 60;

/**
 * Checks a file against a schema.
 *
 * A message of a schema (`{ error: issueText(…) }`, or of an added issue) is the fault's remedy, so it must be constant. zod's texts are
 * not used.
 * @returns the typed value; or every fault with its line, and the file with corrected keys for further checks
 */
export function checkFile<Output>(file: YamlFile, schema: z.ZodType<Output>): CheckedPart<Output> {
  return atOnce(checkInPieces(file, schema));
}

/** The typed value of a file's part; or its faults, and the file with corrected keys. */
type CheckedPart<Output> = { value: Output } | { faults: ConfigurationFault[]; meant: YamlFile };

/** Checks the part at a path like {@link checkFile}, with a break after each fault: a suggestion compares with many names. */
export function* checkInPieces<Output>(
  file: YamlFile,
  schema: z.ZodType<Output>,
  at: ValuePath = [],
): Pieces<CheckedPart<Output>> {
  const result = schema.safeParse(file.valueAt(at) ?? {}, { error: allowedKeys });
  yield;
  if (result.success) return { value: result.data };
  const slips: Slip[] = [];
  const faults: ConfigurationFault[] = [];
  for (const issue of result.error.issues) {
    for (const fault of describeIssue(file, issue, at, slips)) {
      faults.push(fault);
      yield;
    }
  }
  if (slips.length === 0) return { faults, meant: file };
  // A second check of the corrected file shows only independent faults. Each round has fewer unknown keys.
  const meant = withoutSlips(file, slips);
  const rest = yield* checkInPieces(meant, schema, at);
  const ofSlips = slips.map(({ fault }) => fault);
  return 'value' in rest ? { faults: ofSlips, meant } : { ...rest, faults: [...ofSlips, ...rest.faults] };
}

/** A misspelled key. */
interface Slip {
  parent: ValuePath;
  written: string;
  meant: string;
  fault: ConfigurationFault;
}

/** Returns the file with corrected keys and the original lines. */
function withoutSlips(file: YamlFile, slips: readonly Slip[]): YamlFile {
  const value = structuredClone(file.value);
  for (const { parent, written, meant } of slips) {
    const around = valueAt(value, parent) as Record<string, unknown>;
    around[meant] = around[written];
    delete around[written];
  }
  const nameOf = (path: ValuePath) => JSON.stringify(path.map(String));
  const writtenAs = new Map(slips.map(({ parent, meant, written }) => [nameOf([...parent, meant]), written]));
  const asWritten = (path: ValuePath) =>
    path.map((key, depth) => writtenAs.get(nameOf(path.slice(0, depth + 1))) ?? key);
  return {
    name: file.name,
    value,
    lineOf: (path) => file.lineOf(asWritten(path)),
    valueAt: (path) => valueAt(value, path),
  };
}

/** @param slips receives misspelled keys */
function* describeIssue(
  file: YamlFile,
  issue: Issue,
  parent: ValuePath,
  slips: Slip[],
): Generator<ConfigurationFault, void> {
  const path = [...parent, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) yield unknownKey(file, path, key, { allowed: issue.message, slips });
    return;
  }
  if (issue.code === 'invalid_key') {
    const [refused, another] = withRemedy('settings.key-refused');
    const remedy = issue.issues.find((inner) => inner.message !== '')?.message;
    return yield faultAt(file, path, refused, remedy === undefined ? another : textOfIssue(remedy));
  }
  const value = file.valueAt(path);
  const inner = issue.code === 'invalid_union' && value !== undefined ? relevantIssues(issue) : [];
  for (const one of inner) yield* describeIssue(file, one, path, slips);
  if (inner.length > 0) return;
  const remedy = issue.message === '' ? remedyOf(issue, value) : textOfIssue(issue.message);
  yield faultAt(file, path, faultOf(issue) ?? found(path, value), remedy);
}

/**
 * Returns the relevant issues of a union: a fault inside one form (an unset variable), otherwise, unless the schema has a remedy, the
 * issues of the nearest form.
 */
function relevantIssues(issue: z.core.$ZodIssueInvalidUnion): Issue[] {
  const found = issue.errors.flat().filter((inner) => faultOf(inner) !== null);
  if (found.length > 0 || issue.message !== '') return found;
  const byLength = issue.errors.toSorted((a, b) => a.length - b.length);
  return byLength.find((form) => !form.some(isOfAnotherType)) ?? byLength[0] ?? [];
}

function isOfAnotherType(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value');
}

/** Removed keys, with the current alternative. */
const MOVED = new Map([
  ['allowPrivateAddresses', withRemedy('settings.private-addresses')],
  ['expression', withRemedy('mapping.expression')],
  ['expressions', withRemedy('mapping.expression')],
]);

function unknownKey(
  file: YamlFile,
  parent: ValuePath,
  key: string,
  { allowed, slips }: { allowed: string; slips: Slip[] },
): ConfigurationFault {
  const moved = MOVED.get(key);
  if (moved !== undefined) return faultAt(file, [...parent, key], ...moved);
  const keys = allowed.split(' ').filter((word) => word !== '');
  const guess = didYouMean(key, keys);
  const list =
    keys.length === 0
      ? message('settings.nothing-allowed')
      : message('settings.allowed-here', { names: keys.join(', ') });
  const fault = faultAt(file, [...parent, key], message('settings.unknown-key'), withGuess(guess, list));
  if (guess === null) return fault;
  const isThere = [
    ...keysAt(file, parent),
    ...slips.filter((slip) => slip.parent === parent).map(({ meant }) => meant),
  ];
  // Under a corrected name, a secret value could be shown.
  const mayBeShown = SECRET_KEY.test(guess) || !SECRET_KEY.test(key);
  if (!isThere.includes(guess) && mayBeShown) slips.push({ parent, written: key, meant: guess, fault });
  return fault;
}

/** Returns a fault at a path of a file. */
export function faultAt(file: YamlFile, path: ValuePath, text: Text, remedy: Text): ConfigurationFault {
  return faultIn(file.name, text, remedy, { line: file.lineOf(path), path: path.map(String).join('.') });
}

function faultOf(issue: Issue): Text | null {
  return issue.code === 'custom' ? ((issue.params?.fault as Text | undefined) ?? null) : null;
}

function found(path: ValuePath, value: unknown): Text {
  if (value === undefined) return message('settings.missing');
  return message('settings.not-valid', { value: shown(path, value) });
}

/** Returns a value for display: short and without secrets. */
function shown(path: ValuePath, value: unknown): Text {
  if (path.some((key) => SECRET_KEY.test(String(key)))) return message('settings.hidden');
  if (Array.isArray(value)) return message('settings.a-list');
  if (typeof value === 'object' && value !== null) return message('settings.a-mapping');
  const text = JSON.stringify(value)?.replace(/:\/\/[^@/\s]*@/u, '://…@');
  if (text === undefined) return message('settings.nothing');
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

function remedyOf(issue: Issue, value: unknown): Text {
  switch (issue.code) {
    case 'invalid_type':
      return typeRemedy(issue.expected, value);
    case 'invalid_value': {
      const allowed = issue.values.map(String);
      const guess = typeof value === 'string' ? didYouMean(value, allowed) : null;
      return withGuess(guess, message('settings.allowed', { names: allowed.join(', ') }));
    }
    case 'invalid_union': {
      const options: unknown = 'options' in issue ? issue.options : null;
      if (Array.isArray(options)) return message('settings.allowed', { names: options.map(String).join(', ') });
      return message(value === undefined ? 'settings.add' : 'settings.see-schema');
    }
    case 'too_small':
      return message(issue.inclusive === false ? 'settings.more-than' : 'settings.at-least', {
        amount: amount(issue.minimum, issue.origin),
      });
    case 'too_big':
      return message(issue.inclusive === false ? 'settings.less-than' : 'settings.at-most', {
        amount: amount(issue.maximum, issue.origin),
      });
    case 'invalid_format':
      return issue.pattern === undefined
        ? message('settings.give-format', { format: issue.format })
        : message('settings.match', { pattern: issue.pattern });
    default:
      return message('settings.see-schema');
  }
}

function amount(limit: number | bigint, origin: string): Text {
  const count = Number(limit);
  if (origin === 'string') return message('settings.characters', { count });
  return origin === 'array' || origin === 'set' ? message('settings.elements', { count }) : String(limit);
}

const TYPE_WORDS: Record<string, Text> = {
  int: message('settings.a-whole-number'),
  object: message('settings.keys-and-values'),
  record: message('settings.keys-and-values'),
  array: message('settings.a-list'),
  boolean: message('settings.a-boolean'),
  string: message('settings.a-string'),
  number: message('settings.a-number'),
};

function typeRemedy(expectedType: string, value: unknown): Text {
  const expected = TYPE_WORDS[expectedType] ?? expectedType;
  if (value === undefined) return message('settings.add-value', { value: expected });
  const isQuotable = typeof value === 'number' || typeof value === 'boolean';
  if (expectedType === 'string' && isQuotable) return message('settings.quote');
  return message('settings.give-value', { value: expected });
}

/** A part of a file as written. Checks skip missing or wrongly typed parts, which the schema reports. */
export class FilePart {
  readonly file: YamlFile;
  readonly path: ValuePath;

  constructor(file: YamlFile, path: ValuePath = []) {
    this.file = file;
    this.path = path;
  }

  /** Undefined if missing. */
  get value(): unknown {
    return this.file.valueAt(this.path);
  }

  get isMissing(): boolean {
    return this.value === undefined;
  }

  /** Null if not a string. */
  get text(): string | null {
    return typeof this.value === 'string' ? this.value : null;
  }

  /** Empty if not a list. */
  get list(): readonly unknown[] {
    return Array.isArray(this.value) ? this.value : [];
  }

  /** Keys of the mapping; empty if not a mapping. */
  get names(): string[] {
    return keysAt(this.file, this.path);
  }

  at(...keys: ValuePath): FilePart {
    return new FilePart(this.file, [...this.path, ...keys]);
  }

  /** Returns the parts that match a pattern such as `targets.*.title`; `*` matches every key or list element. */
  *matching(pattern: string): Generator<FilePart> {
    const [key = '', ...rest] = pattern.split('.');
    if (key === '') yield this;
    else for (const name of key === '*' ? this.#keys() : [key]) yield* this.at(name).matching(rest.join('.'));
  }

  fault(text: Text, remedy: Text): ConfigurationFault {
    return faultAt(this.file, this.path, text, remedy);
  }

  /** Returns a fault if the name is unknown; none if the candidates are null. @param what kind of the named object */
  *unknownName(candidates: readonly string[] | null, what: Text, remedy: Text): Generator<ConfigurationFault> {
    const { text } = this;
    if (text === null || candidates === null || candidates.includes(text)) return;
    yield this.unknown(text, candidates, { what, remedy });
  }

  /** Returns the fault of an unknown name. */
  unknown(
    name: string,
    candidates: readonly string[],
    { what, remedy }: { what: Text; remedy: Text },
  ): ConfigurationFault {
    const names = candidates.join(', ');
    const list =
      names === '' ? message('settings.none-yet', { remedy }) : message('settings.available', { names, remedy });
    const absent = message('settings.no-such', { what, name: JSON.stringify(name) });
    return this.fault(absent, withGuess(didYouMean(name, candidates), list));
  }

  #keys(): PropertyKey[] {
    return Array.isArray(this.value) ? [...this.value.keys()] : this.names;
  }
}

/** Suggests a similar name first, if one exists. */
export function withGuess(guess: string | null, then: Text): Text {
  return guess === null ? then : message('settings.guess-then', { guess, then });
}
