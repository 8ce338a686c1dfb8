// Tier: full. It parses the largest answers many times, to compare processor time.
import { describe, expect, test } from 'vitest';
import { DavSession } from '../../src/connectors/caldav/webdav.ts';
import { VOCABULARY } from '../../src/connectors/caldav/xml-names.ts';
import { parseXml } from '../../src/connectors/xml.ts';
import { NEVER, TOO_LARGE } from './answering-server.ts';

/* Attack: a vendor's server sends an answer whose parsing needs seconds of the one thread that serves all tenants. */

describe('a large answer that costs more than its size', () => {
  const MEMBERS = 490_000;
  const many = (make: (index: number) => string, separator = ',') =>
    Array.from({ length: MEMBERS }, (_, index) => make(index)).join(separator);

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
    (await costOf(() => parseXml(multistatus(many((n) => `<href>${n}</href>`, '')), VOCABULARY))).milliseconds;

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
