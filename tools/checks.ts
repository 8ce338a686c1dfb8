import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Seen while it runs; otherwise shown only when it fails. */
  readonly live?: boolean;
}

const projectRoot = fileURLToPath(new URL('..', import.meta.url));

const CHECKS: readonly Step[] = [
  { name: 'lint', command: ['biome', 'ci', '--colors=off', '.'] },
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'unused', command: ['knip', '--no-progress', '--no-config-hints'] },
  { name: 'markdown', command: ['markdownlint-cli2'] },
  { name: 'spelling', command: ['cspell', '--no-progress', '--no-summary'] },
  { name: 'English', command: ['node', 'tools/english.ts', '--check'] },
];

/** Runs lint, types, unused code and packages, and the checks of English, all at once. @returns the exit code of one that failed, otherwise 0 */
export async function runChecks(): Promise<number> {
  const codes = await Promise.all(CHECKS.map(runStep));
  return codes.find((code) => code !== 0) ?? 0;
}

/** Runs a program of node_modules, shows what it printed when it fails, and returns its exit code. */
export async function runStep(step: Step): Promise<number> {
  const startedAt = performance.now();
  const [program, ...args] = step.command;
  const programs = `${projectRoot}node_modules/.bin`;
  const child = spawn(`${programs}/${program}`, args, {
    cwd: projectRoot,
    env: { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH ?? ''}` },
    stdio: step.live ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => output.push(chunk));
  const [code, signal]: unknown[] = await once(child, 'close');
  if (code === 0) {
    report(step.name, startedAt, 'passed');
    return 0;
  }
  process.stderr.write(Buffer.concat(output));
  report(step.name, startedAt, `FAILED (${signal ?? `exit code ${code}`})`);
  return typeof code === 'number' ? code : 1;
}

/** Prints a result to standard error. @param startedAt by `performance.now()` */
export function report(name: string, startedAt: number, result: string): void {
  console.error(`[test] ${name} ${result} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}
