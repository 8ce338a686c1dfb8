import type { Parser } from '../parser.ts';

const PLAIN = { seeds: ['a'], words: ['b'], pairs: [] };

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
  ].map((parser) => [parser.name, parser]),
);
