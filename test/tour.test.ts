// Tier: quick, at each change. Reads documents and settings of the project.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

/* docs/tour.md names files, symbols and lines to break. Each must exist, so that the tour works with the current code. */
const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const [, ...stops] = read('docs/tour.md').split(/^## (?=\d+\. )/m);

describe.each(stops.map((text): [string, string] => [text.split('\n', 1)[0] ?? '', text]))('stop %s', (_, text) => {
  test('shows existing files, and symbols declared in them', () => {
    const shown = [...text.matchAll(/^- `([^`]+)`(.*)$/gm)].map(([, path = '', rest = '']) => ({
      path,
      symbols: quoted(rest),
    }));
    expect(shown.length).toBeGreaterThan(0);
    const missing = shown.flatMap(({ path, symbols }) => {
      if (!existsSync(join(root, path))) return [path];
      return symbols.filter((symbol) => !isDeclared(symbol, read(path))).map((symbol) => `${path}: ${symbol}`);
    });
    expect(missing).toEqual([]);
  });

  test('changes a line that occurs once, for an existing test', () => {
    const [, path = '', line = '', test = ''] =
      /^Break in `([^`]+)`: `([^`]+)` →[^→]*?`(test\/[^`]+\.test\.ts)` fails\.$/m.exec(text) ?? [];
    expect(path).not.toBe('');
    expect(read(path).split(line).length - 1).toBe(1);
    expect(existsSync(join(root, test))).toBe(true);
  });
});

test('the tour has its stops', () => {
  expect(stops.length).toBeGreaterThan(8);
});

function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

function isDeclared(symbol: string, source: string): boolean {
  return new RegExp(`\\b(function\\*?|const|class|interface|type) ${symbol}\\b`).test(source);
}
