/** Stryker's report (mutation-testing-report-schema 2), with only the members used here. */
export interface MutantReport {
  files: Record<string, { source: string; mutants: readonly Mutant[] }>;
}

interface Mutant {
  status: string;
  replacement?: string;
  /** Lines and columns start at 1. */
  location: { start: Place; end: Place };
}

interface Place {
  line: number;
  column: number;
}

/** A change of the code without a change of behaviour. Identified by its text, because line numbers change. */
export interface Equivalent {
  file: string;
  /** The line in which the change begins, without its indentation. */
  line: string;
  /** What is changed, its white space made single blanks. */
  mutated: string;
  replacement: string;
  /** Reason why no test can detect the change. */
  why: string;
}

export interface Survivor extends Omit<Equivalent, 'why' | 'file'> {
  /** `line:column` */
  at: string;
}

/** How much of a file could break without its nearest tests saying so. */
export interface FileScore {
  file: string;
  /** Noticed: by a test that failed, or by the time limit. */
  killed: number;
  /** Of those, by the time limit. */
  timedOut: number;
  survivors: Survivor[];
  /** Known to change nothing: not counted. */
  equivalent: number;
  /** Entries of the list of equivalents that name no change of this file, or one that tests do notice. */
  outdated: Equivalent[];
  /** Percentage of the counted changes that a test noticed. */
  score: number;
  minutes: number;
}

const NOTICED = ['Killed', 'Timeout'];
const UNNOTICED = ['Survived', 'NoCoverage'];
const WIDTH = 100;

export function scoreOf(
  file: string,
  report: MutantReport,
  equivalents: readonly Equivalent[],
  minutes: number,
): FileScore {
  const { source, mutants } = report.files[file] ?? { source: '', mutants: [] };
  const lines = source.split('\n');
  const withStatus = (statuses: readonly string[]) =>
    mutants
      .filter(({ status }) => statuses.includes(status))
      .sort(byPlace)
      .map((mutant) => asSurvivor(mutant, lines));
  const killed = withStatus(NOTICED).length;
  const unnoticed = withStatus(UNNOTICED);
  const listed = equivalents.filter((each) => each.file === file);
  const survivors = unnoticed.filter((survivor) => !listed.some((each) => isSameChange(each, survivor)));
  const counted = killed + survivors.length;
  return {
    file,
    killed,
    timedOut: withStatus(['Timeout']).length,
    survivors,
    equivalent: unnoticed.length - survivors.length,
    outdated: listed.filter((each) => !unnoticed.some((survivor) => isSameChange(each, survivor))),
    score: counted === 0 ? 100 : (100 * killed) / counted,
    minutes,
  };
}

/** Renders a table of the scores, then the undetected changes by location; at most 100 columns wide. */
export function renderScores(scores: readonly FileScore[]): string {
  const row = (file: string, ...cells: string[]) => file.padEnd(40) + cells.map((cell) => cell.padStart(10)).join('');
  const table = [
    row('file', 'noticed', 'timed out', 'survived', 'equivalent', 'score %', 'minutes'),
    ...scores.map(({ file, killed, timedOut, survivors, equivalent, score, minutes }) =>
      row(file, ...[killed, timedOut, survivors.length, equivalent].map(String), score.toFixed(1), minutes.toFixed(1)),
    ),
  ];
  const survivors = scores.flatMap(({ file, survivors }) =>
    survivors.flatMap(({ at, ...change }) => [`${file}:${at}`, changeOf(change)]),
  );
  const outdated = scores.flatMap(({ outdated }) => outdated.flatMap((change) => [change.file, changeOf(change)]));
  return [
    ...table,
    ...(survivors.length === 0 ? [] : ['', 'Nobody noticed:', ...survivors]),
    ...(outdated.length === 0
      ? []
      : ['', 'Listed as changing nothing, but not found, or noticed by a test:', ...outdated]),
  ].join('\n');
}

function byPlace({ location: { start: one } }: Mutant, { location: { start: other } }: Mutant): number {
  return one.line - other.line || one.column - other.column;
}

function asSurvivor({ location: { start, end }, replacement = '' }: Mutant, lines: readonly string[]): Survivor {
  const [first = '', ...rest] = lines.slice(start.line - 1, end.line);
  const last = rest.pop();
  const mutated =
    last === undefined
      ? first.slice(start.column - 1, end.column - 1)
      : [first.slice(start.column - 1), ...rest, last.slice(0, end.column - 1)].join('\n');
  return {
    at: `${start.line}:${start.column}`,
    line: first.trim(),
    mutated: onOneLine(mutated),
    replacement: onOneLine(replacement),
  };
}

function isSameChange(equivalent: Equivalent, survivor: Survivor): boolean {
  const parts = ['line', 'mutated', 'replacement'] as const;
  return parts.every((part) => equivalent[part] === survivor[part]);
}

function changeOf({ mutated, replacement }: Pick<Survivor, 'mutated' | 'replacement'>): string {
  return `  ${shorten(mutated)} → ${shorten(replacement)}`;
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function shorten(text: string): string {
  const most = (WIDTH - 6) / 2;
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
