import { expect, test } from 'vitest';
import { idiomsIn } from '../../../tools/english/idioms.ts';

const idioms = async (text: string) =>
  (await idiomsIn({ path: 'a.md', kind: 'document', text })).map(({ line, message }) => `${line}: ${message}`);

test('an idiom is reported with its line and a suggestion', async () => {
  expect(await idioms('The daemon retries.\n\nIt stands in a file of ours.')).toEqual([
    '3: stands in => is in',
    '3: of ours => created by clinic-mirror',
  ]);
});

test('plain sentences have none', async () => {
  expect(await idioms('The daemon encrypts each token. An operator removes the target.')).toEqual([]);
});
