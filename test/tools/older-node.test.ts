import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Names that the plain JavaScript may import from Node. Node 20 exports every name; it only starts the pinned Node. A single missing name
 * prevents the file from running. Before you add a name, check its first Node version (nodejs.org/api).
 */
const SINCE_NODE_20: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['spawn'],
  'node:crypto': ['createHash'],
  'node:fs': ['closeSync', 'existsSync', 'mkdirSync', 'openSync', 'readFileSync', 'writeFileSync'],
  'node:module': ['SourceMap'],
  'node:path': ['delimiter', 'dirname', 'join', 'resolve'],
  'node:url': ['fileURLToPath', 'pathToFileURL'],
};

test('code for an older Node imports only names that the older Node exports', () => {
  const files = globSync(['bin/*.js', 'tools/*.js'], { cwd: root });
  const taken = files.flatMap((file) =>
    [...readFileSync(root + file, 'utf8').matchAll(/^import \{([^}]*)\} from '(node:[a-z_/]+)'/gm)].flatMap(
      ([, names = '', from = '']) => names.split(',').map((name) => ({ file, from, name: name.trim() })),
    ),
  );
  expect(taken.length).toBeGreaterThan(5);
  expect(taken.filter(({ from, name }) => !SINCE_NODE_20[from]?.includes(name))).toEqual([]);
});
