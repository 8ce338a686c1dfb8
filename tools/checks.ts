import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** Seen while it runs; otherwise shown only when it fails. */
  readonly live?: boolean;
}

const projectRoot = fileURLToPath(new URL('..', import.meta.url));

/**
 * One checker instead of the default four: several checkers repeat the work on the large types of `googleapis`, and the other checks use the
 * second core. Rarer garbage collection of the compiler, a Go program, takes memory instead of a sixth of its time (https://go.dev/doc/gc-guide).
 */
const TYPES: Step = { name: 'types', command: ['tsc', '--noEmit', '--checkers', '1'], env: { GOGC: '400' } };

/** Every check of files that runs no test. */
export const CHECKS: readonly Step[] = [
  { name: 'lint', command: ['biome', 'ci', '--colors=off', '.'] },
  TYPES,
  { name: 'unused', command: ['knip', '--no-progress', '--no-config-hints'] },
  { name: 'markdown', command: ['markdownlint-cli2'] },
  { name: 'spelling', command: ['cspell', '--no-progress', '--no-summary'] },
  { name: 'English', command: ['node', 'tools/english.ts', '--check'] },
];

/** Checks of a few files, for the time between two changes: format, lint, types of the whole, Markdown and spelling. */
export function checksOf(files: readonly string[]): readonly Step[] {
  const documents = files.filter((file) => file.endsWith('.md'));
  // As `files` in cspell.json; paths on the command line replace that list.
  const spelled = files.filter((file) => /\.md$|^src\/.*\.ts$/.test(file));
  const given = (step: Step, paths: readonly string[]): Step[] =>
    paths.length === 0 ? [] : [{ ...step, command: [...step.command, ...paths] }];
  return [
    ...given({ name: 'lint', command: ['biome', 'ci', '--colors=off', '--no-errors-on-unmatched'] }, files),
    ...(files.some((file) => /\.[jt]s$|json$/.test(file)) ? [TYPES] : []),
    ...given({ name: 'markdown', command: ['markdownlint-cli2', '--no-globs'] }, documents),
    ...given({ name: 'spelling', command: ['cspell', '--no-progress', '--no-summary'] }, spelled),
  ];
}

/** Runs checks, all at once. @returns the exit code of one that failed, otherwise 0 */
export async function runChecks(checks: readonly Step[] = CHECKS): Promise<number> {
  const codes = await Promise.all(checks.map(runStep));
  return codes.find((code) => code !== 0) ?? 0;
}

/** Runs a program of node_modules, shows what it printed when it fails, and returns its exit code. */
export async function runStep(step: Step): Promise<number> {
  const startedAt = performance.now();
  const [program, ...args] = step.command;
  const programs = `${projectRoot}node_modules/.bin`;
  const child = spawn(`${programs}/${program}`, args, {
    cwd: projectRoot,
    env: { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH ?? ''}`, ...step.env },
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
