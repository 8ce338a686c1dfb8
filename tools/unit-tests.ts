// npm run test:unit [-- <arguments for vitest, such as --watch>]: the tests whose files start neither a server nor a process, nor play days.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unitTestFiles } from './test-files.ts';

const projectRoot = fileURLToPath(new URL('..', import.meta.url));

async function main(): Promise<number> {
  const files = unitTestFiles();
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
