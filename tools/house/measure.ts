import { dirname, join } from 'node:path';
import type { Source } from './source.ts';

/** One goal of the house with its figure now. */
export interface HouseRow {
  /** Name of the goal, H1 to H13. */
  goal: string;
  what: string;
  now: string;
  wanted: string;
}

/** Size of one top folder of `src/`; files directly in `src/` are the module `(top)`. */
export interface ModuleSize {
  module: string;
  files: number;
  lines: number;
  code: number;
}

/** All files that the house is measured by. */
export interface HouseFiles {
  source: readonly Source[];
  test: readonly Source[];
  /** Paths of Redis scripts. */
  scripts: readonly string[];
  /** Files of `src/` that the hold page loads, itself included. */
  holdPage: readonly Source[];
}

const LONG_FUNCTION_LINES = 70;
const LONG_FILE_LINES = 400;
const MANY_PARAMETERS = 4;
/** Words that had several meanings, as parts of names in camelCase. */
const AMBIGUOUS = new Set([
  ...['settle', 'settled', 'settles', 'settling', 'standing', 'standings', 'stands', 'doubt', 'doubted', 'doubts'],
  ...[
    'verdict',
    'verdicts',
    'generation',
    'generations',
    'epoch',
    'epochs',
    'near',
    'told',
    'tell',
    'tells',
    'telling',
  ],
  ...['kept', 'keep', 'keeps', 'keeping', 'keeper', 'known', 'place', 'places', 'placed', 'desk', 'desks', 'given'],
  ...['left', 'beside', 'besides', 'whoever', 'paper', 'shelf', 'surroundings', 'twin', 'twins', 'lasting', 'basis'],
  ...['aside', 'note', 'notes', 'noted', 'noting', 'outlook'],
]);
/** Names in which such a word is the field's own. */
const TERMS = /outlook-?calendar|microsoft|outlook(Calendar|Event|Connector)|^placeholder/i;
const SHARED_TEST_FILES = /(^|[/-])(world|bed|model|crew)s?([/.-]|$)/;

/** Lines, code and files of `src/` by module, the largest first. */
export function moduleRows(source: readonly Source[]): ModuleSize[] {
  const modules = new Map<string, ModuleSize>();
  for (const { path, lines, code } of source) {
    const [, folder = '', ...inner] = path.split('/');
    const module = inner.length === 0 ? '(top)' : folder;
    const size = modules.get(module) ?? { module, files: 0, lines: 0, code: 0 };
    modules.set(module, { module, files: size.files + 1, lines: size.lines + lines, code: size.code + code });
  }
  return [...modules.values()].sort((one, other) => other.code - one.code);
}

/** The files that a file loads when it is imported, itself included; types don't count. @throws Error if the file is not there */
export function closureOf(path: string, source: readonly Source[]): Source[] {
  const byPath = new Map(source.map((each) => [each.path, each]));
  const first = byPath.get(path);
  if (first === undefined) throw new Error(`There is no file ${path}`);
  const reached = new Set([first]);
  for (const file of reached) {
    for (const specifier of file.imports.filter((each) => each.startsWith('.'))) {
      const imported = byPath.get(join(dirname(file.path), specifier));
      if (imported !== undefined) reached.add(imported);
    }
  }
  return [...reached];
}

/** The rows that reading the files can tell. What must be run has its command in the place of a figure. */
export function measureHouse({ source, test, scripts, holdPage }: HouseFiles): HouseRow[] {
  const sum = (files: readonly Source[], of: (file: Source) => number) =>
    files.reduce((total, file) => total + of(file), 0);
  const functions = (of: (each: Source['functions'][number]) => boolean) =>
    sum(source, (file) => file.functions.filter(of).length);
  const row = (goal: string, what: string, now: number | string, wanted: string): HouseRow => ({
    ...{ goal, what, wanted },
    now: typeof now === 'number' ? now.toLocaleString('en') : now,
  });
  const named = sourceFilesWithTest(source, test);
  const ambiguous = source.map((file) => file.names.filter(isAmbiguous).length);
  const worlds = test.filter(({ path }) => SHARED_TEST_FILES.test(path) && !path.endsWith('.test.ts'));
  const outside = source.filter(({ path }) => !path.startsWith('src/messages/'));
  const features = new Set(source.flatMap(({ path }) => /^src\/features\/([^/]+)\//.exec(path)?.[1] ?? []));
  const textual = source.filter(({ texts }) => texts.some(({ text }) => text.includes('redis.call')));
  const calls = (pattern: RegExp) => sum(source, (file) => file.calls.filter((name) => pattern.test(name)).length);
  return [
    row(
      'H1',
      'lines in src',
      sum(source, (file) => file.lines),
      '≤ 70,000',
    ),
    row(
      'H1',
      'lines of code in src',
      sum(source, (file) => file.code),
      '≤ 46,000',
    ),
    row(
      'H2',
      'operations; routes, commands and tools by hand',
      `${calls(/^operation$/)}; ${calls(/^(route|command|registerTool)$/)}`,
      'all; 0',
    ),
    row('H3', 'sentences in two or more files', sentencesInSeveral(source), '0'),
    row(
      'H3',
      'sentences outside of messages/',
      sum(outside, (file) => new Set(file.texts.map(({ text }) => text).filter(isSentence)).size),
      '0',
    ),
    row('H4', 'features in a folder of their own', features.size, '≥ 10'),
    row(
      'H5',
      'functions that take the whole tenant',
      functions(({ takes }) => takes.includes('OpenTenant')),
      '0',
    ),
    row('H6', 'files with Redis scripts in strings; .lua files', `${textual.length}; ${scripts.length}`, '0; all'),
    row('H7', 'files that the page of a hold loads', holdPage.length, '≤ 60'),
    row('H7', 'files of one appointment', '--walk', '≤ 90; ≤ 25'),
    row('H8', 'files in src', source.length, '≤ 600'),
    row(
      'H8',
      `functions above ${LONG_FUNCTION_LINES} lines`,
      functions(({ lines }) => lines > LONG_FUNCTION_LINES),
      '0',
    ),
    row(
      'H8',
      `functions with more than ${MANY_PARAMETERS} parameters`,
      functions(({ parameters }) => parameters > MANY_PARAMETERS),
      '0',
    ),
    row(
      'H8',
      `files above ${LONG_FILE_LINES} lines`,
      source.filter(({ lines }) => lines > LONG_FILE_LINES).length,
      '0',
    ),
    row(
      'H9',
      'names with an ambiguous word; in files',
      `${ambiguous.reduce((a, b) => a + b, 0).toLocaleString('en')}; ${ambiguous.filter((count) => count > 0).length}`,
      '0',
    ),
    row('H10', 'files of src with a test of their name', `${named} of ${source.length}`, 'all with logic'),
    row(
      'H10',
      'shared worlds, models and beds; their lines',
      `${worlds.length}; ${sum(worlds, (file) => file.lines).toLocaleString('en')}`,
      '≤ 15',
    ),
    row('H11', 'minutes of the tests', 'npm test; npm run test:unit', '≤ 6; ≤ 25 s'),
    row('H12', 'judges', 'npm run chaos; mutants; bench', 'as before'),
    row('H13', 'start of a command', 'npm run bench -- --only start', '≤ 0.2; ≤ 0.4 s'),
  ];
}

function sourceFilesWithTest(source: readonly Source[], test: readonly Source[]): number {
  const tests = new Set(test.map(({ path }) => path));
  return source.filter(({ path }) => tests.has(path.replace(/^src\//, 'test/').replace(/\.ts$/, '.test.ts'))).length;
}

/** Whether a text reads as a sentence: at least four words, of which most are lower case letters alone. */
function isSentence(text: string): boolean {
  const words = text.trim().split(/\s+/);
  return words.length >= 4 && words.filter((word) => /^[a-z’']+[,.:;]?$/.test(word)).length >= words.length * 0.6;
}

function sentencesInSeveral(source: readonly Source[]): number {
  const files = new Map<string, number>();
  for (const { texts } of source) {
    for (const text of new Set(texts.map((each) => each.text.trim()).filter(isSentence))) {
      files.set(text, (files.get(text) ?? 0) + 1);
    }
  }
  return [...files.values()].filter((count) => count > 1).length;
}

function isAmbiguous(name: string): boolean {
  if (TERMS.test(name)) return false;
  return name.split(/[_#$-]|(?<=[a-z0-9])(?=[A-Z])/).some((part) => AMBIGUOUS.has(part.toLowerCase()));
}
