import { expect, test } from 'vitest';
import { createLogger } from '../../../src/core/log/create-logger.ts';
import { takeLibraryWords } from '../../../src/core/log/logger.ts';

test('each console text of a library is one line of the log until the console is restored', () => {
  const lines: string[] = [];
  const printed: string[] = [];
  const theirs = { warn: (text: string) => printed.push(text), error: (text: string) => printed.push(text) };
  const log = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } });
  const putBack = takeLibraryWords(log, theirs as unknown as Console);
  for (let connection = 0; connection < 8; connection += 1) theirs.warn('IMPORTANT! Eviction policy is allkeys-lru.');
  theirs.error('something else\n    at a.js:1');
  expect(printed).toEqual([]);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', msg: 'library reported a warning', words: 'IMPORTANT! Eviction policy is allkeys-lru.' },
    { level: 'warn', words: 'something else' },
  ]);
  putBack();
  theirs.warn('again');
  expect(printed).toEqual(['again']);
});
