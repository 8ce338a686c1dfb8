/** Entry of the thread that runs parsers: for each task it reads one input after the other and reports findings. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { MirrorError } from '../../src/core/model/errors.ts';
import { inputOf } from './mutations.ts';
import type { Parser } from './parser.ts';
import { FAULTY } from './parsers/faulty.ts';

/** What a thread is given. */
export interface Task {
  parser: string;
  seed: number;
  /** The first input. */
  from: number;
  /** So many inputs, at most. */
  most: number;
  /** No input begins after so long. */
  forMs: number;
  /** Limits for a finding; Infinity for no limit on time or memory. */
  limits: Limits;
  /** Replaces the generated inputs. */
  input?: Uint8Array;
  /** Where the thread says which input it is at. */
  place: SharedArrayBuffer;
  /** The current input's index in a file, which survives the process. */
  placeFile?: string;
}

export interface Limits {
  /** Processor time of one input. */
  milliseconds: number;
  /** Processor time that each megabyte of an input adds. */
  millisecondsPerMb?: number;
  /** What the heap grows by. */
  bytes: number;
}

export interface Finding {
  parser: string;
  seed: number;
  index: number;
  kind: 'crash' | 'hang' | 'memory';
  what: string;
}

/** What a thread says, in the end and of what it finds. */
export type Said = { finding: Finding } | { done: Figures };

export interface Figures {
  inputs: number;
  /** Inputs that were refused by an error that is declared. */
  refused: number;
  slowestMs: number;
  mostBytes: number;
}

/** Slow inputs are repeated, because the host may be busy or the code not yet compiled. */
const TRIES = 3;
const INPUTS_A_TURN = 50;

const say = (said: Said) => parentPort?.postMessage(said);

/** The product's parsers are loaded for the first of them only: faulty parsers do without. */
async function parserOf(name: string): Promise<Parser> {
  const parser = FAULTY.get(name) ?? (await import('./parsers/index.ts')).PARSERS.get(name);
  if (parser === undefined) throw new RangeError(`there is no parser ${name}`);
  return parser;
}

async function carryOut(task: Task): Promise<void> {
  const parser = await parserOf(task.parser);
  const place = new Int32Array(task.place);
  const file = task.placeFile === undefined ? null : openSync(task.placeFile, 'w');
  const figures: Figures = { inputs: 0, refused: 0, slowestMs: 0, mostBytes: 0 };
  const endsAt = performance.now() + task.forMs;
  for (let index = task.from; index < task.from + task.most && performance.now() < endsAt; index += 1) {
    // Earlier inputs may release memory only in a later event-loop iteration; otherwise one input would be charged for all.
    if (index % INPUTS_A_TURN === 0) await setImmediate();
    Atomics.store(place, 0, index);
    if (file !== null) writeSync(file, `${index}\n`, 0);
    const input = task.input === undefined ? inputOf(parser, task.seed, index) : Buffer.from(task.input);
    const met = await measured(parser, input, limitsFor(input, task.limits));
    figures.inputs += 1;
    figures.refused += met.isRefused ? 1 : 0;
    figures.slowestMs = Math.max(figures.slowestMs, met.milliseconds);
    figures.mostBytes = Math.max(figures.mostBytes, met.bytes);
    const told = findingIn(met, limitsFor(input, task.limits));
    if (told !== null) say({ finding: { parser: parser.name, seed: task.seed, index, ...told } });
  }
  if (file !== null) closeSync(file);
  say({ done: figures });
}

interface Met {
  milliseconds: number;
  bytes: number;
  isRefused: boolean;
  crash: string | null;
}

async function measured(parser: Parser, input: Buffer, limits: Limits): Promise<Met> {
  let least = await once(parser, input);
  for (let again = 1; again < TRIES && findingIn(least, limits) !== null && least.crash === null; again += 1) {
    const { milliseconds, bytes } = await once(parser, input);
    least = {
      ...least,
      milliseconds: Math.min(least.milliseconds, milliseconds),
      bytes: Math.min(least.bytes, bytes),
    };
  }
  return least;
}

async function once(parser: Parser, input: Buffer): Promise<Met> {
  const heapBefore = heapBytes();
  const before = process.threadCpuUsage();
  let isRefused = false;
  let crash: string | null = null;
  try {
    await parser.read(input);
  } catch (error) {
    isRefused = error instanceof MirrorError;
    if (!isRefused) crash = String(error instanceof Error ? error.stack : error);
  }
  const { user, system } = process.threadCpuUsage(before);
  return { milliseconds: (user + system) / 1_000, bytes: heapBytes() - heapBefore, isRefused, crash };
}

/** Decoding and copying a large input takes time in proportion to its size; a parser that needs more than that has a fault. */
function limitsFor(input: Buffer, limits: Limits): Limits {
  const { milliseconds, millisecondsPerMb = 0 } = limits;
  return { ...limits, milliseconds: milliseconds + millisecondsPerMb * (input.length / 1e6) };
}

function heapBytes(): number {
  const { used_heap_size: used, external_memory: external } = getHeapStatistics();
  return used + external;
}

function findingIn({ milliseconds, bytes, crash }: Met, limits: Limits): Pick<Finding, 'kind' | 'what'> | null {
  if (crash !== null) return { kind: 'crash', what: crash };
  if (milliseconds > limits.milliseconds) return { kind: 'hang', what: `${Math.round(milliseconds)} ms` };
  return bytes > limits.bytes ? { kind: 'memory', what: `${Math.round(bytes / 1e6)} MB` } : null;
}

parentPort?.on('message', carryOut);
