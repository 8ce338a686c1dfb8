import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * What the plain JavaScript may take of Node by name: all of it is there since Node 20, which only starts the pinned one. A name that is not there
 * keeps the whole file from running. Before a name is added here, look when Node got it (nodejs.org/api).
 */
const SINCE_NODE_20: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['spawn'],
  'node:crypto': ['createHash'],
  'node:fs': ['closeSync', 'existsSync', 'mkdirSync', 'openSync', 'readFileSync', 'writeFileSync'],
  'node:path': ['delimiter', 'dirname', 'join', 'resolve'],
  'node:url': ['fileURLToPath', 'pathToFileURL'],
};

test('what runs on an older Node takes nothing of it by name that the older one lacks', () => {
  const files = globSync(['bin/*.js', 'tools/*.js'], { cwd: root });
  const taken = files.flatMap((file) =>
    [...readFileSync(root + file, 'utf8').matchAll(/^import \{([^}]*)\} from '(node:[a-z_/]+)'/gm)].flatMap(
      ([, names = '', from = '']) => names.split(',').map((name) => ({ file, from, name: name.trim() })),
    ),
  );
  expect(taken.length).toBeGreaterThan(5);
  expect(taken.filter(({ from, name }) => !SINCE_NODE_20[from]?.includes(name))).toEqual([]);
});
