// npm run test:unit [-- <arguments for vitest, such as --watch>]: the tests whose files start neither a server nor a process, nor play days.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importsOf, tokensOf } from '../test/support/source-scanner.ts';

const projectRoot = fileURLToPath(new URL('..', import.meta.url));
/** A test that imports one of these, directly or through helpers, starts a process or a server. */
const STARTERS =
  /^(tools\/guarded-process\.ts|sandbox\/.*|demo\/.*|bench\/.*|node:(child_process|net|http|https|http2|tls))$/;
/** What is looked into; `src/` starts nothing by being imported. */
const OURS = /^(test|tools)\/.*\.ts$/;
/** They start nothing and take minutes. */
const LONG = ['test/simulation/'];

/** Files of tests that start nothing, as paths from the project's folder. */
function unitTests(): string[] {
  const known = new Map<string, string[]>();
  const importsIn = (file: string) => {
    const imports = known.get(file) ?? readImports(file);
    known.set(file, imports);
    return imports;
  };
  const starts = (test: string) => {
    const reached = new Set([test]);
    for (const file of reached) {
      if (STARTERS.test(file)) return true;
      if (OURS.test(file)) for (const module of importsIn(file)) reached.add(module);
    }
    return false;
  };
  const tests = globSync('test/**/*.test.ts', { cwd: projectRoot }).sort();
  return tests.filter((file) => !LONG.some((folder) => file.startsWith(folder)) && !starts(file));
}

/** What a file imports: paths from the project's folder, and names of packages. */
function readImports(file: string): string[] {
  const source = readFileSync(join(projectRoot, file), 'utf8');
  return importsOf(tokensOf(source)).map(({ specifier }) =>
    specifier.startsWith('.') ? join(dirname(file), specifier) : specifier,
  );
}

async function main(): Promise<number> {
  const files = unitTests();
  console.error(`[test] ${files.length} files that start no server`);
  const programs = `${projectRoot}node_modules/.bin`;
  const args = process.argv.slice(2);
  const mode = args.includes('--watch') ? [] : ['run'];
  const child = spawn(`${programs}/vitest`, [...mode, ...args, ...files], {
    cwd: projectRoot,
    env: { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH ?? ''}` },
    stdio: 'inherit',
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}

process.exitCode = await main();
