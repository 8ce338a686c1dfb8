import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LONGEST_URL } from '../../src/connectors/caldav/limits.ts';
import { MEBIBYTE } from '../../src/http/client.ts';
import type { Asked, Measured } from './measured-multistatus.ts';

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

/** Parts that a server can repeat, with a number and a length drawn at random. */
const FAMILIES: Record<string, (index: number, long: string, short: string) => string> = {
  'ever new names': (index, _, short) => `<p:${short}${index}/>`,
  'known names': () => '<p:all/><all/>',
  'declared namespaces': (_, long) => `<a xmlns="${long}"><a/><href/></a>`,
  'declared prefixes': (index, long, short) => `<q${index}:a xmlns:q${index}="${long}" xmlns:${short}="DAV:"/>`,
  'nested names': (_, long, short) => `${`<${short} xmlns="${long}">`.repeat(9)}${`</${short}>`.repeat(9)}`,
  'long names': (_, long) => `<${long}/>`,
  attributes: (index, long, short) => `<p:comp name="${long}" ${short}${index}="${short}"/>`,
  'many attributes': (_, long, short) => `<a${` ${short}=""`.repeat(Math.min(99, long.length))}/>`,
  references: () => '&amp;&#x1F600;&unknown;',
  'references in attributes': (_, long) => `<comp name="${'&lt;'.repeat(long.length / 4)}"/>`,
  hrefs: (_, __, short) => `<href>${short}</href>`,
  'long hrefs': (_, long) => `<href>${long}</href>`,
  'hrefs that grow': (_, long) => `<href>${'é'.repeat(long.length)}</href>`,
  responses: (index) => `<response><href>${index}</href><status>HTTP/1.1 507 x</status></response>`,
  comments: () => 'a<!---->',
  sections: (_, long) => `a<![CDATA[${long}]]>`,
  'line ends': (_, long) => '\r'.repeat(long.length),
  text: (_, long) => `${long}€`,
};
const PLACES = [
  ['', ''],
  ['<response><href>a</href>', '</response>'],
  ['<response><href>a</href><propstat><status>HTTP/1.1 200 OK</status><prop>', '</prop></propstat></response>'],
  ['<response><propstat><prop><c:calendar-data>', '</c:calendar-data></prop></propstat></response>'],
  ['<sync-token>', '</sync-token>'],
  ['<unknown>', '</unknown>'],
] as const;

const asked = fc
  .record({
    family: fc.constantFrom(...Object.keys(FAMILIES)),
    place: fc.constantFrom(...PLACES),
    long: fc.oneof({ weight: 9, arbitrary: fc.nat({ max: 2_000 }) }, fc.nat({ max: 20_000 })),
    short: fc.integer({ min: 1, max: 30 }),
    bytes: fc.integer({ min: 1_000, max: LONGEST_BODY - 10_000 }),
    namespace: fc.oneof(...[{ weight: 9, arbitrary: fc.nat({ max: 1_000 }) }, fc.nat({ max: 20_000 })]),
    path: fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 1, max: LONGEST_URL - 25 }) },
      fc.integer({ min: 1, max: 15_000 }),
    ),
  })
  .map(({ family, place: [open, close], long, short, bytes, namespace, path }) => {
    const declared = `xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:p="${'u'.repeat(namespace)}"`;
    const make = (index: number) => FAMILIES[family]!(index, 'n'.repeat(long), 's'.repeat(short));
    const count = Math.max(1, Math.floor(bytes / Buffer.byteLength(make(99_999))));
    const inner = Array.from({ length: count }, (_, index) => make(index)).join('');
    const body = `<multistatus ${declared}>${open}${inner}${close}</multistatus>`;
    return { body, path: `/${'b'.repeat(path)}/` };
  });

test('an honest answer is read', async () => {
  const member = '<response><href>a</href></response>';
  const body = `<multistatus xmlns="DAV:">${member.repeat(5_000)}</multistatus>`;
  expect(await measured({ body, path: '/dav/' })).toMatchObject({ code: null, urls: 5_000, longestUrl: 25 });
});

test('an answer that multiplies is refused, or read within the bounds of memory and pause', async () => {
  await fc.assert(
    fc.asyncProperty(asked, async (document) => {
      const { code, pauseMs, grownMebibytes, longestUrl } = await measured(document);
      expect([null, 'bad-xml', 'answer-too-large']).toContain(code);
      expect(longestUrl).toBeLessThanOrEqual(LONGEST_URL);
      expect(grownMebibytes).toBeLessThan(MOST_HEAP_MEBIBYTES + OTHER_MEBIBYTES);
      expect(pauseMs).toBeLessThan(LONGEST_PAUSE_MS);
    }),
    { numRuns: 40 },
  );
});
