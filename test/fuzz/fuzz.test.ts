import { afterAll, describe, expect, test } from 'vitest';
import { paced } from '../support/pace.ts';
import { fuzzApart, openFuzzer } from './apart.ts';
import { chanceOf, inputOf } from './mutations.ts';
import { FAULTY } from './parsers/faulty.ts';
import { PARSERS } from './parsers/index.ts';
import { renderOutcomes } from './report.ts';
import { fuzz, LIMITS, UNLIMITED } from './run.ts';

/*
 * `npm run fuzz` takes minutes; this test gives each parser a hundred new inputs, with equal limits. Time is processor time of the parsing
 * thread, and memory is the growth of its heap, so that neither depends on the load of the host.
 */

const INPUTS = 100;

describe('external input', () => {
  const fuzzer = openFuzzer();
  afterAll(() => fuzzer[Symbol.asyncDispose]());

  test.each([...PARSERS.keys()])('is read or refused, and nothing else: %s', async (parser) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const { milliseconds, millisecondsPerMb, bytes } = LIMITS;
    const limits = { milliseconds: paced(milliseconds), millisecondsPerMb: paced(millisecondsPerMb), bytes };
    const { findings, inputs } = await fuzzer.fuzz({ parser, seed, most: INPUTS, forMs: paced(120_000), limits });
    expect(findings, `npm run fuzz -- --only ${parser} --seed ${seed}`).toEqual([]);
    expect(inputs).toBe(INPUTS);
  });
});

describe('the fuzzer itself', () => {
  test.each([
    ['throws what is not declared', 'faulty-crash', 'crash', UNLIMITED],
    ['never ends', 'faulty-hang', 'hang', UNLIMITED],
    ['takes long', 'faulty-slow', 'hang', { ...UNLIMITED, milliseconds: 1 }],
    ['takes much memory', 'faulty-large', 'memory', { ...UNLIMITED, bytes: 1e6 }],
  ] as const)('finds an input that %s, and continues after it', async (_, parser, kind, limits) => {
    const outcome = await fuzz({ parser, seed: 1, most: 5, forMs: paced(120_000), limits, givenUpMs: 500 });
    expect(outcome.inputs).toBe(5);
    expect(outcome.findings[0]?.index).toBeLessThan(4);
    expect(new Set(outcome.findings.map((finding) => finding.kind))).toEqual(new Set([kind]));
  });

  test('does not report slow loading of parsers as a hang', async () => {
    const run = { parser: 'json', seed: 1, most: 5, limits: UNLIMITED };
    const { inputs, findings } = await fuzz({ ...run, forMs: paced(120_000), givenUpMs: 150 });
    expect({ inputs, findings }).toEqual({ inputs: 5, findings: [] });
  });

  test('reports no input within its limits, even if it retains memory', async () => {
    const limits = { ...UNLIMITED, bytes: 100e6 };
    const outcome = await fuzz({ parser: 'faulty-large', seed: 1, most: 12, forMs: paced(120_000), limits });
    expect(outcome).toMatchObject({ inputs: 12, findings: [] });
    expect(outcome.mostBytes).toBeGreaterThan(1e6);
  });

  test('ends the thread of an input that exhausts the heap, reports it, and continues in the same process', async () => {
    const run = { parser: 'faulty-no-room', seed: 3, most: 4, limits: UNLIMITED, threadMib: 32 };
    const { inputs, findings } = await fuzz({ ...run, forMs: paced(120_000), givenUpMs: paced(60_000) });
    const parser = FAULTY.get(run.parser)!;
    const taking = [0, 1, 2, 3].filter((index) => inputOf(parser, run.seed, index).includes('b'));
    expect([inputs, taking.length]).toEqual([4, 2]);
    const told = { parser: run.parser, seed: run.seed, kind: 'memory', what: 'more than 32 MiB' };
    expect(findings).toEqual(taking.map((index) => ({ ...told, index })));
  });

  test('survives inputs whose single large allocation ends the process, reports each, and continues', async () => {
    const run = { parser: 'faulty-one-piece', seed: 3, most: 4, limits: UNLIMITED, threadMib: 32 };
    const { inputs, findings } = await fuzzApart({ ...run, forMs: paced(120_000), givenUpMs: paced(60_000) });
    const parser = FAULTY.get(run.parser)!;
    const taking = [0, 1, 2, 3].filter((index) => inputOf(parser, run.seed, index).includes('b'));
    expect([inputs, taking.length]).toEqual([4, 2]);
    const told = { parser: run.parser, seed: run.seed, kind: 'memory' };
    expect(findings).toMatchObject(taking.map((index) => ({ ...told, index })));
  });

  test('makes equal inputs of equal seeds and numbers, and different inputs otherwise', () => {
    const [parser] = PARSERS.values();
    const made = (seed: number, index: number) => inputOf(parser!, seed, index).toString('hex');
    expect(made(7, 3)).toBe(made(7, 3));
    expect(new Set(Array.from({ length: 100 }, (_, index) => made(7, index))).size).toBeGreaterThan(50);
    const drawn = Array.from({ length: 1_000 }, chanceOf(1));
    expect(drawn.every((number) => number >= 0 && number < 1)).toBe(true);
  });

  test('prints columns that fit a terminal', () => {
    const outcome = { inputs: 1e7, refused: 1e6, slowestMs: 99_999, mostBytes: 1e9, findings: [] };
    const table = renderOutcomes([...PARSERS.keys()].map((parser) => ({ parser, ...outcome })));
    expect(Math.max(...table.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });
});
