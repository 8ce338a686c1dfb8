/** Makes the tables, figures and pictures of docs/performance.md from the results in docs/performance. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Result, Row } from '../bench/result.ts';
import { FROM, GOAL, type SIZES } from '../bench/scale/growth-sizes.ts';
import { type Picture, renderPicture } from './line-chart.ts';
import { GROWTH, type GrowthPanel, STATEMENTS, type Statement } from './performance-statements.ts';

/** Results by the names of their measurements. */
export type Results = ReadonlyMap<string, Result>;

/** Returns the results in a folder: each file has the name of its measurement. */
export function readResults(folder: string): Results {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return new Map(
    names.sort().map((name) => {
      const text = readFileSync(join(folder, name), 'utf8');
      return [name.slice(0, -'.json'.length), JSON.parse(text) as Result];
    }),
  );
}

/** Returns the generated parts of the page by their names in `<!-- reference: … -->`. Figures without a result are left out. */
export function performanceParts(results: Results): Map<string, string> {
  const statements = Object.entries(STATEMENTS).map(([part, of]) => [
    `performance-${part}`,
    renderStatements(of, results),
  ]);
  const growth = growthUnits().map((unit) => [`performance-growth-${unit}`, renderGrowth(unit, results)]);
  return new Map([
    ...(statements as [string, string][]),
    ...(growth as [string, string][]),
    ['performance-memory', renderMemory(results)],
  ]);
}

/** Returns the pictures of the page as SVG by their file names. */
export function performancePictures(results: Results): Map<string, string> {
  const growth = growthUnits().flatMap((unit): [string, string][] => {
    const rows = results.get(`growth-${unit}`)?.rows;
    return rows === undefined ? [] : [[`growth-${unit}.svg`, renderPicture(growthPicture(unit, rows))]];
  });
  const series = results.get('tenants')?.megabytesOverTime;
  const memory: [string, string][] = series === undefined ? [] : [['memory.svg', renderPicture(memoryPicture(series))]];
  return new Map([...growth, ...memory]);
}

type Unit = keyof typeof SIZES;

function growthUnits(): Unit[] {
  return Object.keys(GROWTH) as Unit[];
}

function renderStatements(statements: readonly Statement[], results: Results): string {
  const lines = statements.flatMap(({ result, figures, label, unit, meaning }) => {
    const values = figures.flatMap(([name, figure]) => {
      const value = results.get(result)?.figures.find((each) => each.name === figure)?.value;
      return value === undefined ? [] : [`${name === '' ? '' : `${name} `}${shownNumber(value)}${unit}`];
    });
    return values.length === 0 ? [] : [`- **${label}: ${values.join(', ')}.** ${meaning}`];
  });
  const used = [...new Set(statements.map(({ result }) => result))].flatMap((name) => results.get(name) ?? []);
  return [...lines, '', ...repeated(used)].join('\n');
}

/** How to repeat measurements, in one paragraph for each. */
function repeated(results: readonly Result[]): string[] {
  const lines = results.map(({ command, measuredOn, machine }) => {
    const { cores, processor, memoryGigabytes, node, loadBefore } = machine;
    const host = [
      `${cores} cores${processor === undefined ? '' : ` (${processor})`}`,
      ...(memoryGigabytes === undefined ? [] : [`${memoryGigabytes} GB`]),
      ...(node === undefined ? [] : [`Node.js ${node}`]),
      ...(loadBefore === undefined ? [] : [`load of other programs ${loadBefore}`]),
    ];
    return { command, where: `measured on ${measuredOn}, ${host.join(', ')}` };
  });
  const [first] = lines;
  if (first === undefined) return [];
  if (lines.every(({ where }) => where === first.where)) {
    return [`Command: ${lines.map(({ command }) => `\`${command}\``).join(', ')}; ${first.where}.`];
  }
  return lines
    .map(({ command, where }) => `Command: \`${command}\`; ${where}.\n`)
    .join('\n')
    .trimEnd()
    .split('\n');
}

function renderGrowth(unit: Unit, results: Results): string {
  const result = results.get(`growth-${unit}`);
  const rows = result?.rows ?? [];
  const { title, panels } = GROWTH[unit];
  const compared = panels.flatMap(({ title: panel, lines }) =>
    lines.flatMap(([name, field, factor = 1]) => {
      const growth = growthOf(unit, rows, field);
      return growth === null ? [] : [{ ...growth, name: lines.length === 1 ? panel : `${panel}: ${name}`, factor }];
    }),
  );
  if (result === undefined) return '';
  return [
    `![${title}](performance/growth-${unit}.svg)`,
    '',
    ...(compared.length === 0 ? [] : comparison(unit, compared)),
    ...repeated([result]),
  ].join('\n');
}

/** Costs of one row of the comparison at two sizes, and the ratio of their costs per unit. */
interface Compared {
  name: string;
  factor: number;
  from: Cost;
  to: Cost;
  ratio: number;
}

interface Cost {
  size: number;
  value: number;
}

function comparison(unit: Unit, compared: readonly Compared[]): string[] {
  const at = (cost: Cost, factor: number) => `${shownNumber(cost.value * factor)} at ${shownNumber(cost.size)}`;
  const steep = compared.filter(({ ratio }) => ratio > GOAL).map(({ name }) => name);
  return [
    '| measurement | from | to | growth per unit |',
    '|---|---|---|---|',
    ...compared.map(
      ({ name, from, to, factor, ratio }) =>
        `| ${name} | ${at(from, factor)} | ${at(to, factor)} | ${shownNumber(ratio)} |`,
    ),
    '',
    steep.length === 0
      ? `No row grows faster than the number of ${nameOf(unit)}: *growth per unit* is at most ${GOAL}.`
      : `Faster than the number of ${nameOf(unit)} (*growth per unit* above ${GOAL}): ${steep.join('; ')}.`,
    '',
  ];
}

function nameOf(unit: Unit): string {
  return unit === 'tenants' ? 'clinics' : unit;
}

/** Compares the cost of a unit at the largest measured size with the size from which it should stay flat, or the smallest. */
function growthOf(unit: Unit, rows: readonly Row[], field: string): Pick<Compared, 'from' | 'to' | 'ratio'> | null {
  const measured = pointsOf(rows, field).map(([size, value]) => ({ size, value }));
  const from = measured.find(({ size }) => size === FROM[unit] && size !== measured.at(-1)?.size) ?? measured[0];
  const to = measured.at(-1);
  if (from === undefined || to === undefined || from === to) return null;
  return { from, to, ratio: to.value / to.size / (from.value / from.size) };
}

function pointsOf(rows: readonly Row[], field: string): [size: number, value: number][] {
  return rows.flatMap((row) => {
    const [size, value] = [row.size, row[field]];
    return size === undefined || value === undefined ? [] : [[size, value] as [number, number]];
  });
}

function growthPicture(unit: Unit, rows: readonly Row[]): Picture {
  const { title, xTitle, panels } = GROWTH[unit];
  const linesOf = ({ lines }: GrowthPanel) =>
    lines
      .map(([name, field, factor = 1]) => ({
        name,
        points: pointsOf(rows, field).map(([size, value]) => [size, value * factor] as const),
      }))
      .filter(({ points }) => points.length > 0);
  const drawn = panels.map((panel) => ({ title: panel.title, lines: linesOf(panel) }));
  return { title, xTitle, scale: 'log', panels: drawn.filter(({ lines }) => lines.length > 0) };
}

function renderMemory(results: Results): string {
  const result = results.get('tenants');
  const series = result?.megabytesOverTime;
  if (result === undefined || series === undefined) return '';
  const megabytes = series.map(([, value]) => value);
  const minutes = Math.round((series.at(-1)?.[0] ?? 0) / 60);
  const clinics = result.figures.find(({ name }) => name === 'tenants memory')?.n ?? 0;
  const [least, most] = [Math.min(...megabytes), Math.max(...megabytes)].map(shownNumber);
  return [
    `![${MEMORY_TITLE}](performance/memory.svg)`,
    '',
    `- **${shownNumber(clinics)} clinics at work, ${minutes} min: ${least} to ${most} MB.** A host needs this memory for the daemon, and a reserve for the largest clinic.`,
    '',
    ...repeated([result]),
  ].join('\n');
}

const MEMORY_TITLE = 'Memory of a daemon at work over time';

function memoryPicture(series: NonNullable<Result['megabytesOverTime']>): Picture {
  const points = series.map(([seconds, megabytes]) => [seconds / 60, megabytes] as const);
  const panels = [{ title: 'Resident memory (MB)', lines: [{ name: 'daemon', points }] }];
  return { title: MEMORY_TITLE, xTitle: 'minutes', scale: 'linear', panels };
}

function shownNumber(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 3 });
}
