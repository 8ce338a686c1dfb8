// Tier: full. It parses the largest answers many times, to compare processor time.
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { DavSession } from '../../src/connectors/caldav/webdav.ts';
import { parseXml } from '../../src/connectors/caldav/xml.ts';
import { MEBIBYTE } from '../../src/http/client.ts';
import { ask, NEVER, openServer, TOO_LARGE, times } from './answering-server.ts';

/* Attack: a vendor's server sends an answer whose parsing needs seconds of the one thread that serves all tenants. */

describe('a large answer that costs more than its size', () => {
  const MEMBERS = 490_000;
  const many = (make: (index: number) => string, separator = ',') =>
    Array.from({ length: MEMBERS }, (_, index) => make(index)).join(separator);
  const rows = (keysOf: (index: number) => string[]) =>
    `[${Array.from({ length: 4_900 }, (_, index) => `{${keysOf(index).join()}}`).join()}]`;

  /**
   * Processor time of the main thread, which serves all tenants: the minimum of three runs, because other work of the process (garbage of
   * earlier files) adds to it.
   */
  async function costOf(work: () => unknown): Promise<{ milliseconds: number; met: unknown }> {
    let [milliseconds, met] = [Infinity, undefined as unknown];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const before = process.threadCpuUsage();
      met = await Promise.resolve()
        .then(work)
        .catch((error: unknown) => error);
      const { user, system } = process.threadCpuUsage(before);
      milliseconds = Math.min(milliseconds, (user + system) / 1_000);
    }
    return { milliseconds, met };
  }
  /** Cost of parsing the largest permitted answer on the main thread, on this host at this moment. */
  const costOfParsing = async () =>
    (await costOf(() => parseXml(multistatus(many((n) => `<href>${n}</href>`, ''))))).milliseconds;

  test.each([
    ['490,000 members of one object', () => `{${many((n) => `"k${n}":0`)}}`],
    [
      'an object for each of 200,000 names',
      () => `[${Array.from({ length: 200_000 }, (_, n) => `{"k${n}":0}`).join()}]`,
    ],
    [
      'names in ever new orders',
      () => rows((n) => Array.from({ length: 100 }, (_, at) => `"f${(n * at * 7_919 + at) % 5_003}":0`)),
    ],
    [
      '490 objects of a thousand members',
      () => rows((n) => (n < 490 ? Array.from({ length: 1_000 }, (_, at) => `"f${at}":0`) : [])),
    ],
  ])('as JSON (%s) is refused for less than half of the cost of parsing on the main thread', async (_, text) => {
    const packed = gzipSync(text());
    const { url } = await openServer({ 'content-encoding': 'gzip' }, () => times(1, packed));
    const { milliseconds, met } = await costOf(() => ask(url, { maxResponseBytes: 24 * MEBIBYTE }));
    expect(met).toMatchObject({
      ...TOO_LARGE,
      message: expect.stringMatching(/more than 50000 .*: 127\.0\.0\.1:\d+$/),
    });
    expect(milliseconds).toBeLessThan((await costOfParsing()) / 2);
  });

  const asked = (body: string) => {
    const answer = { status: 207, headers: new Headers(), retryAfterMs: null, body: Buffer.from(body) };
    const authorizer = { header: async () => 'a', renew: async () => 'a', quotaUser: null };
    const session = new DavSession(
      { http: { send: async () => answer } as never, authorizer },
      new URL('https://dav.example/'),
    );
    return costOf(() => session.ask({ method: 'PROPFIND', url: new URL('https://dav.example/c/') }, NEVER));
  };
  const multistatus = (inner: string) => `<multistatus xmlns="DAV:">${inner}</multistatus>`;

  test('as XML of 23.5 MiB of references is refused with the limit, for less than the cost of parsing', async () => {
    const { milliseconds, met } = await asked(multistatus('&amp;'.repeat(4_928_000)));
    expect(met).toMatchObject({
      ...TOO_LARGE,
      message: expect.stringMatching(/more than 500000 .*references$/),
    });
    expect(milliseconds).toBeLessThan(await costOfParsing());
  });
});
