// npm test [-- <arguments for vitest>]: lint and types, then the tests with the coverage of src/.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Seen while it runs; otherwise shown only when it fails. */
  readonly live?: boolean;
}

const projectRoot = fileURLToPath(new URL('..', import.meta.url));

async function main(): Promise<void> {
  const startedAt = performance.now();
  await Promise.all([
    runStep({ name: 'lint', command: ['biome', 'ci', '.'] }),
    runStep({ name: 'types', command: ['tsc', '--noEmit'] }),
  ]);
  await runStep({
    name: 'tests',
    command: ['vitest', 'run', '--coverage', ...process.argv.slice(2)],
    live: true,
  });
  report('all', startedAt, 'passed');
}

/** Runs a program of node_modules. When it fails, shows what it printed and ends this process with its exit code. */
async function runStep(step: Step): Promise<void> {
  const startedAt = performance.now();
  const [program, ...args] = step.command;
  const modules = `${projectRoot}node_modules/.bin`;
  if (!existsSync(`${modules}/${program}`)) {
    console.error(`[test] ${program} isn't installed: run "npm ci --include=dev".`);
    process.exit(1);
  }
  const child = spawn(`${modules}/${program}`, args, {
    cwd: projectRoot,
    env: { ...process.env, PATH: `${modules}${delimiter}${process.env.PATH ?? ''}` },
    stdio: step.live ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => output.push(chunk));
  const [code, signal]: unknown[] = await once(child, 'close');
  if (code === 0) return report(step.name, startedAt, 'passed');
  process.stderr.write(Buffer.concat(output));
  report(step.name, startedAt, `FAILED (${signal ?? `exit code ${code}`})`);
  process.exit(typeof code === 'number' ? code : 1);
}

function report(name: string, startedAt: number, result: string): void {
  console.error(`[test] ${name} ${result} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

await main();
