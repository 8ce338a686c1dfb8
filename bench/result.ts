import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Figure } from './figure.ts';

/** Numbers of one size by name. */
export type Row = Readonly<Record<string, number>>;

/** Values over the time of a measurement: seconds since its start and the value. */
export type Series = readonly (readonly [seconds: number, value: number])[];

/** What a measurement has in addition to its figures. */
export interface Details {
  /** One row for each size, the smallest first. */
  rows?: readonly Row[];
  megabytesOverTime?: Series;
}

/** The host of a measurement. */
interface Machine {
  cores: number;
  processor?: string;
  memoryGigabytes?: number;
  node?: string;
  /** Average number of busy processes in the minute before the measurement. */
  loadBefore?: number;
}

/** One measurement, as a file of JSON keeps it. */
export interface Result extends Details {
  /** The command that repeats the measurement. */
  command: string;
  /** A date: `2026-11-30`. */
  measuredOn: string;
  machine: Machine;
  figures: readonly (Pick<Figure, 'name' | 'value' | 'n'> & Partial<Figure>)[];
}

/** The present host. */
export function machineNow(): Machine {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? 'unknown',
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    loadBefore: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}

/** Writes a result to `<folder>/<name>.json`. */
export async function writeResult(folder: string, name: string, result: Result): Promise<void> {
  await mkdir(folder, { recursive: true });
  const round = (_key: string, value: unknown) => (isFraction(value) ? Number(value.toPrecision(4)) : value);
  // Each row and each pair on one line: a difference of two results is readable.
  const text = JSON.stringify(result, round, 2).replaceAll(/(?<=^ {4})[[{]\n[^[\]{}]+[\]}]/gm, (lines) =>
    lines.replaceAll(/\s*\n\s*/g, ' '),
  );
  await writeFile(join(folder, `${name}.json`), `${text}\n`);
}

function isFraction(value: unknown): value is number {
  return typeof value === 'number' && !Number.isInteger(value);
}
