// Tier: full. It reads the largest answers of many servers in separate processes, to measure memory and processor time.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SOURCE_LIMITS } from '../../tools/limits-table.ts';
import { startScriptedServer } from '../clinic/scripted-server.ts';
import { paced, slowdownNow } from '../support/pace.ts';
import { HOSTILE, type Hostile } from './hostile-servers.ts';
import type { Asked, Measured } from './measured-sources.ts';

/*
 * Attack: a source of foreign content sends bytes that cost far more memory or processor time than their number, in one of many forms. A process with
 * a small heap reads servers with parameters drawn at random. The table of limits in SECURITY.md states the bounds.
 */

/** Attacks that drive each source to its limits. */
const ATTACKS: Readonly<Record<string, readonly string[]>> = {
  'XML of a CalDAV server': ['xml', 'long links'],
  'Calendar object of a CalDAV server': ['calendar objects'],
  'JSON of a clinic': ['json'],
  'One record, row or page of a clinic that cannot be split': ['records'],
  'Body of an Outlook event': ['html'],
  'JSON of Google, Microsoft, HubSpot, Salesforce and other CRMs': [
    ...['google', 'microsoft', 'hubspot', 'salesforce', 'other CRM'],
  ],
  'List of a clinic': ['lists'],
  'Tenant file': ['tenant files', 'tenant checks'],
  'CRM mapping': ['mappings'],
};
/** Limits of work and numbers: nothing is parsed. */
const WITHOUT_BYTES = ['Strings that are stored', 'Jobs of a tenant', 'Clients of the public port'];

/** Servers of each attack. */
const DRAWS: Readonly<Record<string, number>> = {
  mappings: 8,
  'tenant files': 24,
  hubspot: 24,
  salesforce: 24,
  'other CRM': 24,
};
const USUAL_DRAWS = 16;
/** Heap of a process before it reads, and what is not on its heap: buffers, code and young objects. */
const OWN_HEAP_MEBIBYTES = 64;
/** A busy host empties the processor's caches. What is without bound takes seconds. */
const LEEWAY = 2;
/** A page that is read in many pieces takes twenty seconds; this limit only ends one that hangs. */
const LONGEST_READING_MS = 60_000;
/** The minimum of some measurements is compared, because other work of the host adds to each. */
const ATTEMPTS = 3;

const READING = SOURCE_LIMITS.flatMap(({ source, bounds }) => (bounds === null ? [] : [{ source, bounds }]));

describe('the table of limits', () => {
  test('has for each source a test with servers drawn at random, and each attack belongs to one source', () => {
    expect(READING.map(({ source }) => source)).toEqual(Object.keys(ATTACKS));
    const others = SOURCE_LIMITS.filter(({ bounds }) => bounds === null);
    expect(others.map(({ source }) => source)).toEqual(WITHOUT_BYTES);
    expect(Object.values(ATTACKS).flat().toSorted()).toEqual(Object.keys(HOSTILE).toSorted());
  });

  test.each(SOURCE_LIMITS)('names tests that exist: $source', ({ tests }) => {
    const missing = tests.filter((name) => !existsSync(new URL(`../${name}.test.ts`, import.meta.url)));
    expect({ tests: tests.length > 0, missing }).toEqual({ tests: true, missing: [] });
  });
});

/** Opens a process that reads one attack's servers one after the other. */
async function openReader(attack: string, heapMebibytes: number) {
  let hostile: Hostile = () => ({ json: {} });
  let requests = 0;
  const server = await startScriptedServer((request) => {
    server.requests.length = 0;
    requests += 1;
    return hostile(request, `/${request.path.split('/').slice(2).join('/')}`);
  });
  const reader: ChildProcess = fork(new URL('./measured-sources.ts', import.meta.url), {
    execArgv: [`--max-old-space-size=${heapMebibytes}`, '--max-semi-space-size=8'],
  });
  const ended = once(reader, 'exit').then(([code, signal]): never => {
    throw new Error(`the process ended: ${code ?? signal}`);
  });
  ended.catch(() => {});
  return {
    async read(by: Hostile): Promise<Measured & { requests: number }> {
      [hostile, requests] = [by, 0];
      const answered = Promise.withResolvers<Measured>();
      reader.once('message', (answer) => answered.resolve(answer as Measured));
      const asked: Asked = { attack, url: `${server.url}/a` };
      reader.send(asked, () => {});
      // A reading without end does not notice that this process ended.
      const timer = setTimeout(() => reader.kill('SIGKILL'), paced(LONGEST_READING_MS));
      const measured = await Promise.race([answered.promise, ended]).finally(() => clearTimeout(timer));
      return { ...measured, requests };
    },
    async [Symbol.asyncDispose]() {
      reader.kill('SIGKILL');
      await ended.catch(() => {});
      await server[Symbol.asyncDispose]();
    },
  };
}

const CASES = READING.flatMap(({ source, bounds }) =>
  (ATTACKS[source] ?? []).map((attack) => ({ source, attack, ...bounds })),
);

test.each(CASES)('$source: $attack are refused or read within the bounds of memory and pause', async (row) => {
  const { attack, memoryMebibytes, pauseMs: longestMs } = row;
  await using reader = await openReader(attack, OWN_HEAP_MEBIBYTES + memoryMebibytes);
  // The first readings load and compile the code, and a later growth is that of a reading.
  await reader.read(() => ({ json: {} }));
  await fc.assert(
    fc.asyncProperty(HOSTILE[attack]!, async (server) => {
      const hostile = server.open();
      let least = Infinity;
      for (let attempt = 0; attempt < ATTEMPTS && !(least < longestMs); attempt += 1) {
        const { fault, pauseMs, grownMebibytes, requests } = await reader.read(hostile);
        expect({ fault, isAsked: requests > 0 }).toEqual({ fault: null, isAsked: true });
        expect(grownMebibytes).toBeLessThan(memoryMebibytes);
        least = Math.min(least, pauseMs);
      }
      if (least >= longestMs) expect(least).toBeLessThan(longestMs * LEEWAY * slowdownNow());
    }),
    { numRuns: DRAWS[attack] ?? USUAL_DRAWS, endOnFailure: true },
  );
});
