import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import LongestFirst from './test/support/longest-first.ts';
import { measuredPace, PACE_VARIABLE } from './test/support/pace.ts';
import { testDateOptions } from './test/support/test-date.ts';

/** The clock of the tests and of the processes that they start. */
const testDate = testDateOptions(process.env);

/** Limits of time grow with it. */
const pace = measuredPace(process.env);

export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/**/*.test.ts'],
    reporters: ['default', './test/support/slowest-reporter.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    env: {
      // Processes that tests start compile what they load once for all of them. As `bin/clinic-mirror.js` does.
      NODE_COMPILE_CACHE: fileURLToPath(new URL('.cache/compiled', import.meta.url)),
      NODE_OPTIONS: testDate,
      [PACE_VARIABLE]: String(pace),
    },
    // Two more than there are cores, since a file waits for Redis, for daemons and for time nearly half of its own. Each takes up to 1 GB.
    maxWorkers: Math.min(availableParallelism() + 2, 4),
    // Tests make much that is soon gone: with more room for it a fifteenth of the processor time is saved.
    execArgv: ['--max-semi-space-size=64', testDate],
    sequence: { sequencer: LongestFirst },
    // A process for each file, with everything loaded again, took a third of the time. So nothing in `src/` keeps state in a module (a test looks).
    isolate: false,
    restoreMocks: true,
    unstubGlobals: true,
    unstubEnvs: true,
    // They end what hangs; nothing is measured by them, so they are generous: both cores may be busy.
    testTimeout: 300_000 * pace,
    hookTimeout: 120_000 * pace,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'json'] },
  },
});
