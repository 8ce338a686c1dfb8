import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import LongestFirst from './test/support/longest-first.ts';
import { measuredPace, PACE_VARIABLE } from './test/support/pace.ts';
import { propertyRunsPlugin } from './test/support/property-runs.ts';
import { testDateOptions } from './test/support/test-date.ts';
import { TIER_VARIABLE } from './test/support/tiers.ts';

/** The clock of the tests and of the processes that they start. */
const testDate = testDateOptions(process.env);

/** Limits of time grow with it. */
const pace = measuredPace(process.env);

export default defineConfig({
  plugins: [propertyRunsPlugin(process.env)],
  test: {
    environment: 'node',
    include: ['test/**/*.test.ts'],
    reporters: ['./test/support/run-reporter.ts'],
    setupFiles: process.env[TIER_VARIABLE] === undefined ? [] : ['./test/support/cpu-limit.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    env: {
      // Processes started by tests share one compile cache, like `bin/clinic-mirror.js`.
      NODE_COMPILE_CACHE: fileURLToPath(new URL('.cache/compiled', import.meta.url)),
      NODE_OPTIONS: testDate,
      [PACE_VARIABLE]: String(pace),
    },
    // Two more than the cores, because a file waits nearly half of its time for Redis, daemons or timers. Each worker takes up to 1 GB.
    maxWorkers: Math.min(availableParallelism() + 2, 4),
    // Tests allocate many short-lived objects: a larger young generation saves a fifteenth of the processor time.
    execArgv: ['--max-semi-space-size=64', testDate],
    sequence: { sequencer: LongestFirst },
    // A process for each file, with everything loaded again, took a third of the time. So nothing in `src/` keeps state in a module (a test looks).
    isolate: false,
    restoreMocks: true,
    unstubGlobals: true,
    unstubEnvs: true,
    // Generous, because they only end hangs and measure nothing: both cores may be busy.
    testTimeout: 300_000 * pace,
    hookTimeout: 120_000 * pace,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'json'] },
  },
});
