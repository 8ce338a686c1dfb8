import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `quick` files run with `npm test`, `full` files only with `npm run test:all`. */
export type Tier = 'quick' | 'full';

/** What a test file states about its runs. */
export interface TierStatement {
  tier: Tier;
  /** Whether `npm test -- --changed` always runs the file, because it reads files that no import names. */
  atEachChange: boolean;
}

/** Names the tier of the test run for the configuration of vitest and for the processor limit of {@link quickFileFault}. */
export const TIER_VARIABLE = 'CLINIC_MIRROR_TEST_TIER';

/** Folders of `test/`. Files next to them belong to the quick tier. */
const FOLDERS: ReadonlyMap<string, Tier> = new Map(
  Object.entries({
    attacks: 'quick',
    bin: 'quick',
    canaries: 'quick',
    chaos: 'full',
    clinic: 'quick',
    connectors: 'quick',
    container: 'full',
    contract: 'full',
    core: 'quick',
    daemon: 'quick',
    demo: 'full',
    'described-api': 'quick',
    domain: 'quick',
    engine: 'quick',
    e2e: 'full',
    examples: 'quick',
    features: 'quick',
    fuzz: 'full',
    jobs: 'quick',
    messages: 'quick',
    oauth: 'quick',
    operator: 'quick',
    sandbox: 'quick',
    settings: 'quick',
    setup: 'quick',
    simulation: 'full',
    state: 'quick',
    support: 'quick',
    tenant: 'quick',
    tools: 'quick',
  } as const),
);

/** The first line of a file whose tier is not that of its folder; the reason follows. */
const TIER_LINE = /^\/\/ Tier: (quick|full)(, at each change)?\. \S/;

/**
 * Returns the tier of a test file, from its first line; without a tier there, from its folder.
 * @param file path from the project's folder, for example `test/engine/diff.test.ts`
 * @returns null for a file in an unlisted folder, or with a malformed line
 */
export function tierOf(file: string, source: string): TierStatement | null {
  const [line = ''] = source.split('\n', 1);
  if (line.startsWith('// Tier:')) {
    const [, tier, each] = TIER_LINE.exec(line) ?? [];
    return tier === undefined ? null : { tier: tier as Tier, atEachChange: each !== undefined };
  }
  const [, folder, rest] = file.split('/');
  const tier = rest === undefined ? 'quick' : FOLDERS.get(folder ?? '');
  return tier === undefined ? null : { tier, atEachChange: false };
}

/** All test files, as paths from `root`, sorted. */
export function allTestFiles(root: string): string[] {
  return globSync('test/**/*.test.ts', { cwd: root }).sort();
}

/** Test files of one tier. @throws Error that names files without a tier */
export function testFilesOf(tier: Tier, root: string): string[] {
  const stated = allTestFiles(root).map((file) => ({
    file,
    stated: tierOf(file, readFileSync(join(root, file), 'utf8')),
  }));
  const unknown = stated.filter((each) => each.stated === null).map(({ file }) => file);
  if (unknown.length > 0) throw new Error(withoutTier(unknown));
  return stated.filter((each) => each.stated?.tier === tier).map(({ file }) => file);
}

function withoutTier(files: readonly string[]): string {
  return (
    `${files.join(', ')}: no tier. Add the folder to test/support/tiers.ts, or begin the file with ` +
    '"// Tier: quick. <reason>" or "// Tier: full. <reason>".'
  );
}

/** Goal for the processor time of one file of the quick tier, in seconds, on a usual host. */
const QUICK_FILE_CPU_SECONDS = 5;
/** Above this multiple of the goal, the run fails: a busy host doubles the time of a file. */
const FAILS_AT = 4;

/** What a run says about a file above the goal. */
export interface QuickFileFault {
  text: string;
  /** Whether the run fails; otherwise the text is a notice. */
  isFatal: boolean;
}

/**
 * Returns why a file does not belong to the quick tier; null if the file does.
 * @param cpuSeconds processor time of the file's tests, with that of processes that the tests started and ended
 * @param slowdown measures how much slower the host is than a usual host, now; called only above the goal
 */
export function quickFileFault(file: string, cpuSeconds: number, slowdown: () => number): QuickFileFault | null {
  if (cpuSeconds <= QUICK_FILE_CPU_SECONDS) return null;
  const usualSeconds = cpuSeconds / slowdown();
  if (usualSeconds <= QUICK_FILE_CPU_SECONDS) return null;
  return {
    isFatal: usualSeconds > QUICK_FILE_CPU_SECONDS * FAILS_AT,
    text:
      `${file} took ${usualSeconds.toFixed(1)} s of processor time; a file of the quick tier should take ` +
      `${QUICK_FILE_CPU_SECONDS} s, and fails above ${QUICK_FILE_CPU_SECONDS * FAILS_AT} s. Reduce it, split it, or ` +
      'begin it with "// Tier: full. <reason>".',
  };
}
