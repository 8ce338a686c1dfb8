import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders = readdirSync(`${root}sandbox`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'kit')
  .map(({ name }) => name);

describe('the README of each sandbox', () => {
  const HEADINGS = ['Start', 'Supported protocol', 'Not supported', 'Faults', 'Options'];

  test.each(folders)('%s: names the command, and has the form of all', (name) => {
    const readme = readFileSync(`${root}sandbox/${name}/README.md`, 'utf8');
    expect(readme).toContain(`npm run sandbox -- ${name}`);
    expect(readme.match(/^## .*$/gm)).toEqual(HEADINGS.map((heading) => `## ${heading}`));
    expect(readme.split('\n').length).toBeLessThanOrEqual(70);
  });
});
