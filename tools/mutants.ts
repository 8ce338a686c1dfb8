// npm run mutants -- [file …] [--json] [--concurrency <n>]: how much of the safety core could break without its tests saying so.
// Stryker changes one place of a file at a time and runs the tests nearest to the file (test/mutants/nearest-tests.json). What
// changes nothing is listed, with the reason, in test/mutants/equivalent.json, and doesn't count.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Equivalent, type FileScore, type MutantReport, renderScores, scoreOf } from './mutant-scores.ts';

const projectRoot = fileURLToPath(new URL('..', import.meta.url));
/** Below the project, so that its node_modules are found; ignored by git, and by Stryker's own copies. */
const WORK_FOLDER = '.cache/mutants';
const LOWEST_SCORE = 95;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false }, concurrency: { type: 'string', default: '2' } },
  });
  const nearestTests = readData<Record<string, string[]>>('nearest-tests.json');
  const equivalents = readData<Equivalent[]>('equivalent.json');
  const files = chosen(Object.keys(nearestTests), positionals);
  const scores: FileScore[] = [];
  for (const file of files) {
    const startedAt = performance.now();
    const report = await mutate(file, nearestTests[file] ?? [], Number(values.concurrency));
    const score = scoreOf(file, report, equivalents, (performance.now() - startedAt) / 60_000);
    scores.push(score);
    console.error(`[mutants] ${file}: ${score.score.toFixed(1)} % in ${score.minutes.toFixed(1)} min`);
  }
  console.log(values.json ? JSON.stringify(scores, null, 2) : renderScores(scores));
  return scores.every(({ score }) => score >= LOWEST_SCORE) ? 0 : 1;
}

function readData<Data>(name: string): Data {
  return JSON.parse(readFileSync(join(projectRoot, 'test/mutants', name), 'utf8')) as Data;
}

/** Selects files by the end of their path, without `.ts`: `guard`, `caldav/writing`. Without names, selects all. */
function chosen(files: readonly string[], names: readonly string[]): string[] {
  if (names.length === 0) return [...files];
  return names.flatMap((name) => {
    const end = `/${name.replace(/^\/|\.ts$/g, '')}.ts`;
    const found = files.filter((file) => `/${file}`.endsWith(end));
    if (found.length > 0) return found;
    throw new Error(`${name} is none of the files of test/mutants/nearest-tests.json:\n${files.join('\n')}`);
  });
}

/** @throws Error with Stryker's output when it can't be run: a test that fails before anything is changed, say */
async function mutate(file: string, testFiles: readonly string[], concurrency: number): Promise<MutantReport> {
  mkdirSync(join(projectRoot, WORK_FOLDER), { recursive: true });
  const folder = mkdtempSync(join(projectRoot, WORK_FOLDER, 'run-'));
  try {
    const options = { ...strykerOptions(folder), mutate: [file], concurrency };
    writeFileSync(join(folder, 'options.json'), JSON.stringify(options));
    writeFileSync(options.vitest.configFile, configurationOf(testFiles));
    await runStryker(join(folder, 'options.json'));
    return JSON.parse(readFileSync(options.jsonReporter.fileName, 'utf8')) as MutantReport;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Passes the tests to vitest. If Stryker selected the tests, changes of constants would take effect only after the constants were computed,
 * and no test could detect them.
 */
function configurationOf(testFiles: readonly string[]): string {
  const ours = JSON.stringify(join(projectRoot, 'vitest.config.ts'));
  return `import shared from ${ours};\nexport default { test: { ...shared.test, include: ${JSON.stringify(testFiles)} } };\n`;
}

function strykerOptions(folder: string) {
  return {
    testRunner: 'vitest',
    vitest: { related: false, pool: 'forks', configFile: join(folder, 'vitest.config.mjs') },
    coverageAnalysis: 'perTest',
    reporters: ['json'],
    jsonReporter: { fileName: join(folder, 'report.json') },
    tempDirName: relative(projectRoot, join(folder, 'copies')),
    ignorePatterns: ['.cache', 'coverage'],
    // Test servers are in the project's .cache.
    buildCommand: 'ln -s ../../../.. .cache',
    // Stryker would rewrite the configuration by a TypeScript that doesn't do that any more.
    tsconfigFile: 'none.json',
    disableTypeChecks: false,
    dryRunTimeoutMinutes: 15,
    allowConsoleColors: false,
    logLevel: 'warn',
  };
}

async function runStryker(optionsFile: string): Promise<void> {
  const programs = join(projectRoot, 'node_modules/.bin');
  const child = spawn(process.execPath, [join(programs, 'stryker'), 'run', optionsFile], {
    cwd: projectRoot,
    env: { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH ?? ''}` },
    // Standard output is for the scores.
    stdio: ['ignore', 2, 2],
  });
  const [code]: unknown[] = await once(child, 'exit');
  if (code !== 0) throw new Error(`Stryker ended with ${String(code)}: what it says is above`);
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
