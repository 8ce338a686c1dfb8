import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { PICTURES } from '../../tools/screenshots.ts';
import { MADE_FROM, picturesInDocuments, stylesOfPages } from '../../tools/shown-pictures.ts';

const LARGEST_BYTES = 120_000;
const folder = dirname(MADE_FROM);

test('each screenshot in a document is made by the tool, and no other is kept', () => {
  const kept = readdirSync(folder).filter((file) => file.endsWith('.png'));
  expect(kept.sort()).toEqual([...picturesInDocuments()].sort());
  const made = Object.keys(PICTURES).flatMap((name) =>
    ['light', 'dark'].flatMap((theme) => ['wide', 'phone'].map((screen) => `${name}-${theme}-${screen}.png`)),
  );
  expect(kept.filter((file) => !made.includes(file))).toEqual([]);
});

test('a screenshot is small enough for a document', () => {
  const sizes = [...picturesInDocuments()].map((file) => [file, statSync(join(folder, file)).size] as const);
  expect(sizes.filter(([, bytes]) => bytes > LARGEST_BYTES)).toEqual([]);
});

test('the screenshots show the pages as they look now: otherwise run "npm run screenshots"', () => {
  expect(JSON.parse(readFileSync(MADE_FROM, 'utf8'))).toEqual({ styles: stylesOfPages() });
});
