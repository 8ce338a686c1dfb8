import { relative } from 'node:path';
import {
  DefaultReporter,
  type Reporter,
  type SerializedError,
  type TestCase,
  type TestModule,
  type TestRunEndReason,
  type TestSpecification,
} from 'vitest/node';

/** Number of files from which a run prints progress instead of a line per file. */
const MANY_FILES = 10;
const SLOWEST_SHOWN = 10;
const PROGRESS_EVERY_MS = 10_000;

/** Result of one test for the end of a run. */
export interface TestResult {
  /** Path from the project's folder. */
  file: string;
  title: string;
  state: 'passed' | 'failed' | 'skipped';
  /** Reason of a skipped test. */
  reason: string | null;
}

/** A test file with its wall time. */
export interface FileResult {
  file: string;
  seconds: number;
  failed: boolean;
}

/**
 * Reports a run of many files: progress at least every ten seconds, skipped tests with their reasons, the slowest files, and at the very end
 * the failed tests with the command that repeats each. A run of a few files is reported as vitest does.
 */
export default class RunReporter extends DefaultReporter implements Reporter {
  #files = 0;
  #startedAt = 0;
  #printedAt = 0;
  #finished = 0;
  #tests = 0;
  #failed = 0;

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length;
    this.#startedAt = performance.now();
    this.#printedAt = this.#startedAt;
    if (this.#isLarge()) this.silent = 'passed-only';
    super.onTestRunStart(specifications);
  }

  override onTestModuleEnd(module: TestModule): void {
    super.onTestModuleEnd(module);
    this.#finished += 1;
    for (const test of module.children.allTests()) {
      this.#tests += 1;
      if (test.result().state === 'failed') this.#failed += 1;
    }
    const now = performance.now();
    if (!this.#isLarge() || this.isTTY || now - this.#printedAt < PROGRESS_EVERY_MS) return;
    this.#printedAt = now;
    this.log(
      `[test] ${this.#finished} of ${this.#files} files, ${this.#tests} tests, ${this.#failed} failed, ` +
        `${((now - this.#startedAt) / 1_000).toFixed(0)} s`,
    );
  }

  protected override printTestModule(module: TestModule): void {
    if (!this.#isLarge() || module.state() === 'failed') super.printTestModule(module);
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    super.onTestRunEnd(modules, errors, reason);
    const tests = modules.flatMap((module) => [...module.children.allTests()].map(resultOf));
    const files = modules.map((module) => ({
      file: fileOf(module),
      seconds: module.diagnostic().duration / 1_000,
      failed: module.state() === 'failed',
    }));
    for (const line of closingLines(tests, files)) this.log(line);
  }

  #isLarge(): boolean {
    return this.#files > MANY_FILES;
  }
}

function resultOf(test: TestCase): TestResult {
  const result = test.result();
  return {
    file: fileOf(test.module),
    title: test.fullName,
    state: result.state === 'pending' ? 'skipped' : result.state,
    reason: result.state === 'skipped' ? (result.note ?? null) : null,
  };
}

function fileOf(module: TestModule): string {
  return relative(module.project.config.root, module.moduleId);
}

/** Returns the last lines of a run. The last line has a form that programs read. */
export function closingLines(tests: readonly TestResult[], files: readonly FileResult[]): string[] {
  const count = (state: TestResult['state']) => tests.filter((test) => test.state === state).length;
  const [failed, skipped] = [tests.filter(({ state }) => state === 'failed'), count('skipped')];
  return [
    ...(files.length > MANY_FILES ? slowestLines(files) : []),
    ...skippedLines(tests),
    ...failedLines(failed, files),
    '',
    `${count('passed')} passed, ${failed.length} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`,
  ];
}

function slowestLines(files: readonly FileResult[]): string[] {
  const slowest = [...files].sort((one, other) => other.seconds - one.seconds).slice(0, SLOWEST_SHOWN);
  return [
    '',
    `The ${SLOWEST_SHOWN} slowest files:`,
    ...slowest.map(({ file, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${file}`),
  ];
}

function skippedLines(tests: readonly TestResult[]): string[] {
  const skipped = tests.filter(({ state }) => state === 'skipped');
  const byReason = Map.groupBy(skipped, ({ file, reason }) => `${file}: ${reason ?? 'without a reason'}`);
  if (byReason.size === 0) return [];
  return ['', 'Skipped tests:', ...[...byReason].map(([reason, of]) => `${String(of.length).padStart(6)}  ${reason}`)];
}

function failedLines(failed: readonly TestResult[], files: readonly FileResult[]): string[] {
  const withTest = new Set(failed.map(({ file }) => file));
  const whole = files.filter((each) => each.failed && !withTest.has(each.file));
  if (failed.length + whole.length === 0) return [];
  const repeat = (file: string, title: string | null) =>
    `    npx vitest run ${file}${title === null ? '' : ` -t ${quoted(asPattern(title))}`}`;
  return [
    '',
    'Failed tests, each with the command that repeats it:',
    ...failed.flatMap(({ file, title }) => [`  ${file} > ${title}`, repeat(file, title)]),
    ...whole.flatMap(({ file }) => [`  ${file}`, repeat(file, null)]),
  ];
}

/** vitest takes a regular expression, and joins the titles of groups and test with a blank. */
function asPattern(title: string): string {
  return title.replaceAll(' > ', ' ').replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

/** As one word for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
