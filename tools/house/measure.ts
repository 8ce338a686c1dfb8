import { dirname, join } from 'node:path';
import type { Source, TextRole } from './source.ts';
import { AMBIGUOUS_WORDS, STANDARD_NAMES } from './words.ts';

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
  /** Scripts for Redis: their lines count in `src`. */
  scripts: readonly Source[];
  /** Files of `src/` that the hold page loads, itself included. */
  holdPage: readonly Source[];
}

const LONG_FUNCTION_LINES = 70;
const MANY_PARAMETERS = 4;
/** Words that had several meanings, as parts of names in camelCase. */
const AMBIGUOUS = new Set(AMBIGUOUS_WORDS.flatMap(({ forms }) => forms));
const SHARED_TEST_FILES = /(^|[/-])(world|bed|model|crew)s?([/.-]|$)/;

/** Folders of `src/` that group modules. */
const GROUPS = new Set(['core', 'operator']);

/** Lines, code and files of `src/` by module, the largest first. */
export function moduleRows(source: readonly Source[]): ModuleSize[] {
  const modules = new Map<string, ModuleSize>();
  for (const { path, lines, code } of source) {
    const [, folder = '', ...inner] = path.split('/');
    const module = inner.length === 0 ? '(top)' : GROUPS.has(folder) ? `${folder}/${inner[0]}` : folder;
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

/** Goals with their measure, location and figure name; a text in brackets is a command that measures. */
const GOALS: readonly [
  goal: string,
  what: string,
  figure: keyof ReturnType<typeof figuresOf> | `[${string}]`,
  wanted: string,
][] = [
  ['H1', 'lines in src', 'lines', '≤ 70,000'],
  ['H1', 'lines of code in src', 'code', '≤ 46,000'],
  ['H2', 'operations in the table', 'operations', 'all'],
  ['H2', 'routes and tools by hand', 'byHand', '0'],
  ['H2', 'commands of the process itself', 'processCommands', '–'],
  ['H3', 'sentences in two or more files', 'doubleSentences', '0'],
  ['H3', 'sentences for people in code', 'sentences', '0'],
  ['H3', 'descriptions of settings and fields', 'descriptions', 'with their schema'],
  ['H3', 'texts of operations and commands', 'declaredSentences', 'with their declaration'],
  ['H3', 'sentences of pages and documents', 'pageSentences', 'with their page'],
  ['H3', 'sentences of terminal views', 'terminalSentences', 'with their view'],
  ['H3', 'messages of the log', 'logSentences', '–'],
  ['H3', 'sentences of errors that are defects', 'assertions', '–'],
  ['H4', 'features in separate folders', 'features', '≥ 10'],
  ['H5', 'functions that take the whole tenant', 'takeTenant', '0'],
  ['H6', 'files with Redis scripts in strings', 'scriptsInStrings', '0'],
  ['H6', 'Redis scripts in files', 'scripts', 'all'],
  ['H7', 'files that the page of a hold loads', 'holdPage', '≤ 60'],
  ['H7', 'files of one appointment', '[npm run house -- --walk]', '≤ 90; ≤ 25'],
  ['H8', 'files in src', 'files', '≤ 600'],
  ['H8', 'functions above 70 lines', 'longFunctions', '0'],
  ['H8', 'functions with more than 4 parameters', 'manyParameters', '0'],
  ['H9', 'names with an ambiguous word', 'ambiguous', '0'],
  ['H10', 'files of src with a test of their name', 'withTest', '–'],
  ['H10', 'files with logic and without one', 'withoutTest', '0'],
  ['H10', 'shared worlds, models and beds of tests', 'worlds', '≤ 15'],
  ['H10', 'lines of them', 'worldLines', '–'],
  ['H11', 'duration of the tests', '[npm test; npm run test:unit]', '≤ 6 min; ≤ 25 s'],
  ['H12', 'judges', '[npm run chaos; mutants; bench]', 'as before'],
  ['H13', 'start of a command', '[npm run bench -- --only start]', '≤ 0.2 s; ≤ 0.4 s'],
];

/** Returns the rows of all goals. A goal that requires a run has its command instead of a figure. */
export function measureHouse(files: HouseFiles): HouseRow[] {
  const figures = figuresOf(files);
  return GOALS.map(([goal, what, figure, wanted]) => {
    const isCommand = (name: typeof figure): name is `[${string}]` => name.startsWith('[');
    const now = isCommand(figure) ? figure.slice(1, -1) : figures[figure].toLocaleString('en');
    return { goal, what, now, wanted };
  });
}

function figuresOf({ source, test, scripts, holdPage }: HouseFiles) {
  const sum = (files: readonly Source[], of: (file: Source) => number) =>
    files.reduce((total, file) => total + of(file), 0);
  const functions = (of: (each: Source['functions'][number]) => boolean) =>
    sum(source, (file) => file.functions.filter(of).length);
  const literalCalls = (pattern: RegExp) =>
    sum(source, (file) => file.literalCalls.filter((name) => pattern.test(name)).length);
  const worlds = test.filter(({ path }) => SHARED_TEST_FILES.test(path) && !path.endsWith('.test.ts'));
  const sentences = (kind: SentenceKind) => sum(source, (file) => sentencesOf(file, kind).length);
  return {
    lines: sum([...source, ...scripts], (file) => file.lines),
    code: sum([...source, ...scripts], (file) => file.code),
    operations: sum(
      source.filter(({ path }) => /^src\/(operator\/operations|features)\//.test(path)),
      (file) => file.calls.filter((name) => name === 'operation').length,
    ),
    byHand: literalCalls(/^(route|registerTool)$/),
    processCommands: literalCalls(/^command$/),
    doubleSentences: sentencesInSeveral(source).length,
    sentences: sentences('code'),
    descriptions: sentences('description'),
    declaredSentences: sentences('declared'),
    pageSentences: sentences('page'),
    terminalSentences: sentences('terminal'),
    logSentences: sentences('log'),
    assertions: sentences('assertion'),
    features: new Set(source.flatMap(({ path }) => /^src\/features\/([^/]+)\//.exec(path)?.[1] ?? [])).size,
    takeTenant: functions(({ takes }) => takes.includes('OpenTenant')),
    scriptsInStrings: source.filter(({ texts }) => texts.some(({ text }) => text.includes('redis.call'))).length,
    scripts: scripts.length,
    holdPage: holdPage.length,
    files: source.length,
    longFunctions: functions(({ lines }) => lines > LONG_FUNCTION_LINES),
    manyParameters: functions(({ parameters }) => parameters > MANY_PARAMETERS),
    ambiguous: sum([...source, ...scripts], (file) => ambiguousNames(file).length),
    withTest: source.length - filesWithoutTest(source, test).length,
    withoutTest: filesWithoutTest(source, test).filter(hasLogic).length,
    worlds: worlds.length,
    worldLines: sum(worlds, (file) => file.lines),
  };
}

/** Files of `src/` whose test, of the same path and name, is not in `test/`. */
export function filesWithoutTest<File extends Pick<Source, 'path'>>(
  source: readonly File[],
  test: readonly Pick<Source, 'path'>[],
): File[] {
  const tests = new Set(test.map(({ path }) => path));
  return source.filter(({ path }) => !tests.has(path.replace(/^src\//, 'test/').replace(/\.ts$/, '.test.ts')));
}

/** Less is the wiring of a few defaults. */
const FEWEST_BRANCHES = 3;

/** Whether a file decides something that a test can get wrong. Texts of pages are functions too, which the tests of their pages read. */
export function hasLogic({ path, branches }: Pick<Source, 'path' | 'branches'>): boolean {
  return branches >= FEWEST_BRANCHES && !/^src\/operator\/(http-server\/pages|documents)\/texts\//.test(path);
}

/** Decides whether a text is a sentence: at least four words, most of them in lower case letters only. */
function isSentence(text: string): boolean {
  const words = text.trim().split(/\s+/);
  return words.length >= 4 && words.filter((word) => /^[a-z’']+[,.:;]?$/.test(word)).length >= words.length * 0.6;
}

/** What a sentence outside of `messages/` is: of a page, by the role of its text, or a sentence for people in code. */
export type SentenceKind = 'page' | 'terminal' | 'code' | Exclude<TextRole, 'other' | 'error'>;

/**
 * Templates of pages, documents and views of the terminal, and texts of a feature in both languages: the goal leaves texts with their template.
 * The profile that is proposed to an administrator is a document, the whole command line and `init` are views. Help of metrics and descriptions of
 * interfaces for programs are descriptions.
 */
const TEMPLATES: readonly [kind: SentenceKind, path: RegExp][] = [
  [
    'terminal',
    /^src\/(operator\/cli\/.+|cli|command-line|settings\/summary|setup\/(init\/.+|[a-z-]+\/(command|render-profile-check|write-proposal)))\.ts$/,
  ],
  [
    'page',
    /^src\/(operator\/(http-server\/(pages\/|(login-page|answers|access\/sign-in)\.ts)|documents\/|codes\/)|setup\/|features\/[a-z-]+\/texts\.ts)/,
  ],
  [
    'description',
    /^src\/((operator\/control|features\/[a-z-]+)\/metric(s|-definitions)|operator\/(http-server\/api\/openapi|mcp-server\/server))\.ts$/,
  ],
];

/** Sentences of one kind of a file, each once; none of `messages/`. */
export function sentencesOf({ path, texts }: Pick<Source, 'path' | 'texts'>, kind: SentenceKind): string[] {
  if (path.startsWith('src/messages/')) return [];
  const template = TEMPLATES.find(([, where]) => where.test(path))?.[0];
  const kindOf = (role: TextRole): SentenceKind =>
    role === 'error' ? 'code' : role === 'other' ? (template ?? 'code') : role;
  return [...new Set(texts.filter(({ role }) => kindOf(role) === kind).map(({ text }) => text.trim()))].filter(
    isSentence,
  );
}

/** Sentences that are written in two or more files. */
export function sentencesInSeveral(source: readonly Pick<Source, 'path' | 'texts'>[]): string[] {
  const files = new Map<string, number>();
  for (const { texts } of source) {
    for (const text of new Set(texts.map((each) => each.text.trim()).filter(isSentence))) {
      files.set(text, (files.get(text) ?? 0) + 1);
    }
  }
  return [...files].filter(([, count]) => count > 1).map(([text]) => text);
}

/** Returns declared names that contain a word with several meanings. */
export function ambiguousNames({ names }: Pick<Source, 'names'>): string[] {
  return names.filter(isAmbiguous);
}

function isAmbiguous(name: string): boolean {
  if (STANDARD_NAMES.test(name)) return false;
  return name.split(/[_#$-]|(?<=[a-z0-9])(?=[A-Z])/).some((part) => AMBIGUOUS.has(part.toLowerCase()));
}
