import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readChanges } from '../../src/connectors/google-calendar/connector.ts';
import type { Scope } from '../../src/connectors/hubspot/from-model.ts';
import { listRecords } from '../../src/connectors/hubspot/records.ts';
import { guardWalk } from '../../src/connectors/wire.ts';
import { sourceFile } from '../support/architecture.ts';
import { vendorLoopBreaches } from '../support/vendor-loops.ts';

/*
 * A server that answers endless pages, or leads in a circle, would get endless requests: each read has a limit that the server cannot
 * choose.
 */

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));

/** Counts the requests, and throws above the number that any walk may send. */
function endless<Answer>(next: (asked: number) => Answer) {
  let asked = 0;
  return {
    asked: () => asked,
    ask: async () => {
      asked += 1;
      if (asked > 30_000) throw new Error('the vendor got endless requests');
      return next(asked);
    },
  };
}

const TOKENS: readonly [name: string, tokenOf: (asked: number) => string, mostAsked: number][] = [
  ['the same page', () => 'a', 2],
  ['two alternating pages', (asked) => 'ab'[asked % 2] ?? '', 3],
  ['a circle of a hundred pages', (asked) => String(asked % 100), 101],
  ['ever new pages', String, 20_000],
];

describe.each(TOKENS)('a vendor that leads to %s', (_, tokenOf, mostAsked) => {
  test('gets no endless requests from the change feed of Google', async () => {
    const vendor = endless((asked) => ({
      status: 200,
      retryAfterMs: null,
      body: { items: [], nextPageToken: tokenOf(asked) },
    }));
    const calls = { ownerTag: 'tag', list: vendor.ask, find: async () => [], async *readAll() {} };
    // A guarded walk reads everything instead.
    expect(await readChanges(calls as never, 'calendar', null)).toMatchObject({ scope: 'whole' });
    expect(vendor.asked()).toBeLessThanOrEqual(200);
  });

  test('gets no endless requests from the list of HubSpot', async () => {
    const vendor = endless((asked) => ({ results: [], paging: { next: { after: tokenOf(asked) } } }));
    const scope = {
      client: { demand: vendor.ask },
      object: 'contacts',
      paths: { objects: () => '/objects' },
      properties: [],
      subscriptions: [],
      keyProperty: 'k',
      stampProperty: 's',
    };
    const reading = Array.fromAsync(listRecords(scope as unknown as Scope));
    await expect(reading).rejects.toMatchObject({ code: 'unexpected-answer' });
    expect(vendor.asked()).toBeLessThanOrEqual(mostAsked);
  });

  test('gets no endless requests from a guarded walk', async () => {
    const vendor = endless(tokenOf);
    const visit = guardWalk(() => new Error('lost'));
    const walk = async () => {
      for (let place: string | null = null; ; place = await vendor.ask()) visit(place);
    };
    await expect(walk()).rejects.toThrow('lost');
    expect(vendor.asked()).toBeLessThanOrEqual(mostAsked);
  });
});

describe('every loop that sends requests to external servers', () => {
  const breaches = (source: string) => vendorLoopBreaches([sourceFile('src/connectors/one/a.ts', source)], {});

  test('is guarded or counted', () => {
    const names = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const files = names.map((name) => sourceFile(`src/${name}`, readFileSync(`${SOURCE}/${name}`, 'utf8')));
    expect(vendorLoopBreaches(files)).toEqual([]);
  });

  test.each([
    ['while', 'async function f() { let p = 1;\n while (p !== null) { p = await ask(p); } }'],
    ['while without end', 'async function f() {\n for (;;) { if (await ask()) return; } }'],
    ['do', 'function* f() {\n do { p = yield ask(p); } while (p !== null); }'],
    ['for with the previous answer', 'async function f() {\n for (let p = 0; p !== null; p += 1) await ask(p); }'],
    [
      'while with a count that need not grow',
      'async function f() {\n while (found.length < wanted) found.push(...(await ask())); }',
    ],
    [
      'a function that calls itself',
      'async function f(p: string): Promise<{ a: 1 }> {\n return p === null ? [] : await f(await ask(p)); }',
    ],
  ])('is found if unguarded: %s', (_, source) => {
    expect(breaches(source)).toEqual([
      expect.stringMatching(/^src\/connectors\/one\/a\.ts:2 repeats requests without a limit/),
    ]);
  });

  test.each([
    ['that is guarded', 'async function f() { while (p !== null) { visit(p); p = await ask(p); } }'],
    ['that is guarded at its end', 'async function f() { do { visit(p); p = await ask(p); } while (p !== null); }'],
    ['that is counted', 'async function f() { for (let n = 0; n < MOST; n += 1) await ask(n); }'],
    ['over an existing list', 'async function f() { for (const each of all) await ask(each); }'],
    ['over pages', 'async function f() { for await (const page of pages()) await keep(page); }'],
    ['that sends no request', 'function f() { while (at < text.length) at += 1; }'],
  ])('excludes a loop %s', (_, source) => {
    expect(breaches(source)).toEqual([]);
  });

  test('the list of exceptions matches the source exactly', () => {
    const loop = 'async function f() { while (p !== null) p = await ask(p); }';
    const one = (source: string) =>
      vendorLoopBreaches([sourceFile('src/oauth/a.ts', source)], { 'src/oauth/a.ts': [1, 'why'] });
    expect(one(loop)).toEqual([]);
    expect(one(loop + loop)).toHaveLength(2);
    expect(one('')).toEqual(['src/oauth/a.ts has fewer such loops than are listed']);
  });
});
