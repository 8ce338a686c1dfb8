import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LONGEST_URL } from '../../src/connectors/caldav/limits.ts';
import { MEBIBYTE } from '../../src/core/http/client.ts';
import { slowdownNow } from '../support/pace.ts';
import type { Asked, Measured } from './measured-multistatus.ts';
import { multiplyingXml } from './multiplying-xml.ts';

/*
 * Attack: a CalDAV server sends a small answer that multiplies in memory or time: a long namespace in each name, many short hrefs below a
 * long path after a redirect, references, attributes, empty elements. A process with a small heap reads random members of these families.
 */

const LONGEST_BODY = MEBIBYTE;
/** Bound of the heap: a process that needs more ends. A thread of the process has its own heap, but the same bound of memory. */
const MOST_HEAP_MEBIBYTES = 64 + (20 * LONGEST_BODY) / MEBIBYTE;
/** Young generation, compiled code and the bodies, which are not on the bounded heap. */
const OTHER_MEBIBYTES = 160;
/** Processor time without a break. A request of another tenant waits as long. */
const LONGEST_PAUSE_MS = 50;

let reader: ChildProcess;
let ended: Promise<never>;
beforeAll(() => {
  reader = fork(new URL('./measured-multistatus.ts', import.meta.url), {
    execArgv: [`--max-old-space-size=${MOST_HEAP_MEBIBYTES}`, '--max-semi-space-size=8'],
  });
  ended = once(reader, 'exit').then(([code, signal]) => {
    throw new Error(`the process ended: ${code ?? signal}`);
  });
  ended.catch(() => {});
});
afterAll(() => void reader.kill());

async function measured(asked: Asked): Promise<Measured> {
  const answered = new Promise<Measured>((resolve) => reader.once('message', (answer) => resolve(answer as Measured)));
  reader.send(asked, () => {});
  return await Promise.race([answered, ended]);
}

const asked = multiplyingXml(LONGEST_BODY - 10_000);

test('an honest answer is read', async () => {
  const member = '<response><href>a</href></response>';
  const body = `<multistatus xmlns="DAV:">${member.repeat(5_000)}</multistatus>`;
  expect(await measured({ body, path: '/dav/' })).toMatchObject({ code: null, urls: 5_000, longestUrl: 25 });
});

test('an answer that multiplies is refused, or read within the bounds of memory and pause', async () => {
  await fc.assert(
    fc.asyncProperty(asked, async ({ document }) => {
      const { code, pauseMs, grownMebibytes, longestUrl } = await measured(document());
      expect([null, 'bad-xml', 'answer-too-large']).toContain(code);
      expect(longestUrl).toBeLessThanOrEqual(LONGEST_URL);
      expect(grownMebibytes).toBeLessThan(MOST_HEAP_MEBIBYTES + OTHER_MEBIBYTES);
      expect(pauseMs).toBeLessThan(LONGEST_PAUSE_MS * slowdownNow());
    }),
    { numRuns: 40 },
  );
});
