import { readFileSync } from 'node:fs';
import type { KnipConfig } from 'knip';

const manifest = new URL('package.json', import.meta.url);
const { scripts } = JSON.parse(readFileSync(manifest, 'utf8')) as { scripts: Record<string, string> };

/** Files started or loaded by path, without an import. */
const STARTED = [
  ...Object.values(scripts).flatMap((line) => line.match(/(?<=with-setup\.js )\S+/g) ?? []),
  'bin/*.js',
  'src/operator/http-server/pages/assets/*.js',
  'tools/container-demo.ts',
  'sandbox/*/command.ts',
  // By the names of connectors (tools/write-reference.ts).
  'src/connectors/*/errors.ts',
  'test/simulation/broken-worker.ts',
  'test/support/cpu-limit.ts',
  'test/support/redis-date-preload.ts',
  'test/support/repeated-fast-check.ts',
  'test/support/test-date-preload.js',
  'test/tools/fixtures/properties/*.ts',
];

export default {
  entry: STARTED,
  project: ['{bin,src,examples,sandbox,demo,test,tools,bench}/**/*.{ts,js}'],
  // Exported signatures use these types for callers, even if no caller names the types.
  ignoreExportsUsedInFile: { interface: true, type: true },
  // Two limits may be equal and still be two.
  exclude: ['duplicates'],
  // Started by tools/mutants.ts, a plugin of it, and required where no import can be resolved (json-server-child.js).
  // textlint-rule-prh is required by a constant (tools/english/idioms.ts); cspell and markdownlint-cli2 are started by tools/checks.ts.
  ignoreDependencies: [
    ...['@stryker-mutator/core', '@stryker-mutator/vitest-runner', 'json-server'],
    ...['textlint-rule-prh', 'cspell', 'markdownlint-cli2'],
  ],
  // Optional: flock and ssh-keygen are used only if installed.
  ignoreBinaries: ['flock', 'ssh-keygen'],
} satisfies KnipConfig;
