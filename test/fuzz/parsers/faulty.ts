import type { Parser } from '../parser.ts';

const PLAIN = { seeds: ['a'], words: ['b'], pairs: [] };

/** Bytes that `faulty-large` retains per input; the system provides memory only for written pages. */
const KEPT_BYTES = 4_000_000;
/** Parsed data that is never released. */
const kept: Uint8Array[] = [];
/** Never released either, but nested: each allocation is small, as in a parser that builds a tree. */
let chain: object | null = null;

/** Parsers that must be found out. */
export const FAULTY: ReadonlyMap<string, Parser> = new Map(
  [
    {
      ...PLAIN,
      name: 'faulty-crash',
      read: (input: Buffer) => {
        if (input.includes('b')) throw new TypeError('there is a b');
      },
    },
    {
      ...PLAIN,
      name: 'faulty-hang',
      read: (input: Buffer) => {
        while (input.includes('b')) if (input.length < 0) break;
      },
    },
    {
      ...PLAIN,
      name: 'faulty-slow',
      read: (input: Buffer) => {
        if (input.includes('b')) for (let turn = 0; turn < 100_000_000; turn += 1) input[0] = turn % 7;
      },
    },
    {
      ...PLAIN,
      name: 'faulty-large',
      read: (input: Buffer) => {
        if (input.includes('b')) kept.push(new Uint8Array(KEPT_BYTES));
      },
    },
    {
      ...PLAIN,
      name: 'faulty-no-room',
      read: (input: Buffer) => {
        while (input.includes('b')) chain = { before: chain };
      },
    },
    {
      ...PLAIN,
      name: 'faulty-one-piece',
      read: (input: Buffer) => {
        for (const numbers: object[] = []; input.includes('b'); ) numbers.push({});
      },
    },
  ].map((parser) => [parser.name, parser]),
);
