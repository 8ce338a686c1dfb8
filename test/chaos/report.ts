import { type Defect, noTally, type Tally } from './judge/tally.ts';
import type { RunResult } from './run/run.ts';
import type { TimePassed } from './run/settle.ts';
import { describeScript, type Script } from './script/generate.ts';
import { MECHANISMS } from './without/mechanisms.ts';

/** A run with defects. */
export interface Example {
  seed: number;
  defects: Defect[];
  unsettled: string[];
  script: Script;
  /** The shortest script that still fails; null if it did not fail again, or was not replayed. */
  shortest: Script | null;
}

/** Result of all runs. */
export interface Report extends Tally {
  runs: number;
  seconds: number;
  faultsInjected: number;
  byFault: Record<string, number>;
  /** Different awaits that were met, and at how many of them something happened. */
  awaits: { met: number; struck: number };
  /** Runs that settled only after the daemons' clocks were set ahead: each contains a delay that is longer than necessary. */
  timePassed: { runs: number; seeds: { seed: number; times: TimePassed[] }[] };
  examples: Example[];
  /** Null unless a safety was removed. */
  without: Trial | null;
}

/** Scripts played without a safety, and the same scripts with it. */
export interface Trial {
  safety: string;
  runs: number;
  /** Of those runs, how many had a defect that the safety prevents. */
  detected: number;
  /** In how many there was a defect of a kind. */
  byKind: Record<string, number>;
  control: { runs: number; defects: number };
}

/** Collects runs. */
export class Reporter {
  readonly #startedAt = performance.now();
  readonly #tally = noTally();
  readonly #byFault = new Map<string, number>();
  readonly #met = new Set<string>();
  readonly #struck = new Set<string>();
  readonly #examples: Example[] = [];
  readonly #timePassed: { seed: number; times: TimePassed[] }[] = [];
  readonly #without: string | null;
  readonly #control = { runs: 0, defects: 0 };
  #runs = 0;

  /** @param without the removed safety */
  constructor(without: string | null = null) {
    this.#without = without;
  }

  /** Adds a run of the same script with the safety active. */
  addControl({ defects }: RunResult): void {
    this.#control.runs += 1;
    if (defects.length > 0) this.#control.defects += 1;
  }

  add({ script, tally, defects, byFault, awaits, unsettled, timePassed }: RunResult, shortest: Script | null): void {
    this.#runs += 1;
    for (const name of Object.keys(tally) as (keyof Tally)[]) this.#tally[name] += tally[name];
    for (const [name, count] of Object.entries(byFault)) {
      this.#byFault.set(name, (this.#byFault.get(name) ?? 0) + count);
    }
    for (const name of awaits.met) this.#met.add(name);
    for (const name of awaits.struck) this.#struck.add(name);
    if (timePassed.length > 0) this.#timePassed.push({ seed: script.seed, times: timePassed });
    if (defects.length > 0) this.#examples.push({ seed: script.seed, defects, unsettled, script, shortest });
  }

  #found(safety: string): Pick<Trial, 'detected' | 'byKind'> {
    const prevented = MECHANISMS[safety]?.prevents ?? [];
    const kinds = this.#examples.map(({ defects }) => new Set(defects.map(({ kind }) => kind)));
    const byKind: Record<string, number> = {};
    for (const kind of kinds.flatMap((each) => [...each])) byKind[kind] = (byKind[kind] ?? 0) + 1;
    return { detected: kinds.filter((each) => prevented.some((kind) => each.has(kind))).length, byKind };
  }

  report(): Report {
    const byFault = [...this.#byFault].sort(([one], [other]) => (one < other ? -1 : 1));
    return {
      runs: this.#runs,
      seconds: Math.round((performance.now() - this.#startedAt) / 1_000),
      faultsInjected: byFault.reduce((sum, [, count]) => sum + count, 0),
      byFault: Object.fromEntries(byFault),
      ...this.#tally,
      awaits: { met: this.#met.size, struck: this.#struck.size },
      timePassed: { runs: this.#timePassed.length, seeds: this.#timePassed.toSorted(bySeed) },
      examples: this.#examples.toSorted(bySeed),
      without:
        this.#without === null
          ? null
          : { safety: this.#without, runs: this.#runs, ...this.#found(this.#without), control: this.#control },
    };
  }
}

const WIDTH = 100;
const SHOWN_DEFECTS = 8;
const WORDS: Readonly<Record<keyof Tally, string>> = {
  duplicates: 'objects without a record in the clinic',
  missing: 'appointments and contacts that a target lacks',
  wrong: 'objects with other values than the clinic has',
  unjustifiedDeletes: 'removals of objects that the clinic still has',
  doubleReminders: 'text messages that arrived twice',
  lostTokens: 'connections that were lost without a revocation',
  leaks: 'names of patients in logs, metrics or Redis',
  falseInSync: 'differences while a target said "in sync"',
};

/** Renders the report as text. */
export function renderReport(report: Report): string {
  const { runs, seconds, faultsInjected, byFault, awaits, examples } = report;
  const faults = Object.entries(byFault).map(([name, count]) => `${name} ${count}`);
  const figures = (Object.keys(WORDS) as (keyof Tally)[]).map(
    (name) => `${String(report[name]).padStart(6)}  ${name.padEnd(20)}${WORDS[name]}`,
  );
  return [
    `${runs} runs in ${seconds} s, ${faultsInjected} faults, at ${awaits.struck} of ${awaits.met} different awaits`,
    ...wrap(faults.join(', '), '  '),
    '',
    ...figures,
    ...timeLines(report),
    ...examples.flatMap(exampleLines),
    ...(report.without === null ? [] : ['', describeTrial(report.without)]),
  ].join('\n');
}

function describeTrial({ safety, runs, detected, byKind, control }: Trial): string {
  const played = control.runs === 0 ? '' : `, with it: a defect in ${control.defects} of ${control.runs}`;
  return `without ${safety}: detected in ${detected} of ${runs} (${kindsOf(byKind)})${played}`;
}

function kindsOf(byKind: Trial['byKind']): string {
  return Object.entries(byKind)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', ');
}

/** Trials as a table, a line for each safety. */
export function renderTrials(trials: readonly Trial[]): string {
  const rows = trials.map(({ safety, runs, detected, byKind, control }) => [
    ...[safety, `${detected} of ${runs}`, control.runs === 0 ? '–' : `${control.defects} of ${control.runs}`],
    kindsOf(byKind),
  ]);
  const table = [['safety', 'without it', 'with it', 'defects in so many runs'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Whether every run had a defect that the safety prevents, and none had one with it. */
export function isProved({ runs, detected, control }: Trial): boolean {
  return detected === runs && control.defects === 0;
}

function bySeed(one: { seed: number }, other: { seed: number }): number {
  return one.seed - other.seed;
}

const MINUTE_MS = 60_000;

function timeLines({ timePassed: { runs, seeds } }: Report): string[] {
  const describe = ({ aheadMs, unsettled }: TimePassed) => `${aheadMs / MINUTE_MS} min for ${unsettled.join(', ')}`;
  return [
    '',
    `${runs} runs were in sync after the clocks were set ahead`,
    ...seeds.flatMap(({ seed, times }) => wrap(`  seed ${seed}: ${times.map(describe).join('; ')}`, '    ')),
  ];
}

function exampleLines({ seed, defects, unsettled, script, shortest }: Example): string[] {
  const more = defects.length - SHOWN_DEFECTS;
  return [
    '',
    ...describeScript(shortest ?? script)
      .split('\n')
      .flatMap((line) => wrap(line, '    ')),
    ...(shortest === null
      ? []
      : [`  (shortest of ${script.steps.length} steps; npm run chaos -- --seed ${seed} --runs 1)`]),
    ...defects.slice(0, SHOWN_DEFECTS).flatMap(({ kind, text }) => wrap(`  ${kind}: ${text}`, '    ')),
    ...(more > 0 ? [`  … and ${more} more`] : []),
    ...(unsettled.length > 0 ? wrap(`  never in sync: ${unsettled.join(', ')}`, '    ') : []),
  ];
}

/** Lines of at most {@link WIDTH} characters, broken at blanks; those after the first are indented. */
export function wrap(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/(?<=\S) /)) {
    if (line !== '' && line.length + word.length + 1 > WIDTH) {
      lines.push(line);
      line = indent;
      line += word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
