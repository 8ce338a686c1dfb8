import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Share, Turns } from '../../src/jobs/turns.ts';
import type { SharesOf } from '../../src/tenant/job-catalogue.ts';
import { sharesOf } from '../../src/tenant/job-shares.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';

/*
 * Capacity of all kinds of jobs, for tenants with any numbers of connections, arrivals and ends in any order. Real shares and a real queue;
 * only the work itself ends by command of the test.
 */

const PLACES = 32;
const IN_FLIGHT = {
  ...{ pull: PLACES, 'read-streams': PLACES, push: PLACES, audit: PLACES, 'check-target': PLACES },
  ...{ subscriptions: PLACES, remind: PLACES, triggers: PLACES, 'refresh-tokens': PLACES },
};
const QUARTER = PLACES / 4;
/** Jobs of one vendor or gateway, half of all. */
const HALF = PLACES / 2;
const VENDORS = ['caldav', 'google', 'outlook'] as const;
const CONNECTIONS = 80;

/** A tenant with 80 connections and channels of each vendor, and one target for each. */
function tenantOf(id: string): OpenTenant {
  const names = VENDORS.flatMap((vendor) =>
    Array.from({ length: CONNECTIONS }, (_, at) => [`${vendor}-${at}`, vendor] as const),
  );
  const known = {
    id,
    configuration: {
      clinic: { client: 'main' },
      reminders: { channels: new Map(names.map(([name, kind]) => [name, { kind }])) },
    },
    targets: new Map(names.map(([name, connector]) => [name, { configuration: { connector, connection: name } }])),
    runs: { list: async () => [{ snapshot: { records: 10 } }] },
    links: { count: async () => 10 },
    reminders: { ledger: { read: async (reminder: string) => ({ channel: reminder }) } },
  };
  return known as unknown as OpenTenant;
}

const KINDS = ['push', 'check-target', 'remind'] as const;

interface Work {
  name: string;
  tenant: string;
  vendor: string;
  shares: readonly Share[];
}

/** A queue that lists running and waiting jobs. */
function openTurns(ids: readonly string[]) {
  const tenants = new Map(ids.map((id) => [id, tenantOf(id)]));
  const all: SharesOf = sharesOf(tenants, IN_FLIGHT);
  const turns = new Turns();
  const running = new Map<string, Work & { end(): void }>();
  const waiting = new Map<string, Work>();
  const enter = (work: Work): void => {
    const { name, shares } = work;
    const admission = turns.admit({ work: name, job: name, shares, call: async () => enter(work) });
    if (admission.turn !== 'begin') return void waiting.set(name, work);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.delete(name);
    running.set(name, { ...work, end: resolve });
    void admission.run(() => promise);
  };
  const of = (some: Iterable<Work>, tenant: string, vendor?: string) =>
    [...some].filter((work) => work.tenant === tenant && (vendor ?? work.vendor) === work.vendor).length;
  return {
    ...{ running, waiting, of },
    async come(kind: (typeof KINDS)[number], tenant: string, vendor: string, nth: number) {
      const name = `${vendor}-${nth % CONNECTIONS}`;
      const data = { tenant, target: name, reminder: name };
      const shares = await all[kind](data);
      enter({ name: `${tenant} ${nth} ${vendor}`, tenant, vendor, shares });
    },
    async end(at: number) {
      const chosen = [...running.values()][at % Math.max(1, running.size)];
      if (chosen === undefined) return;
      running.delete(chosen.name);
      chosen.end();
      await new Promise((resolve) => setImmediate(resolve));
    },
    /** Whether a waiting job could begin: each of its shares has free capacity, in addition to one reservation of an overtaken job. */
    couldBegin({ shares }: Work) {
      const used = (name: string) =>
        [...running.values()].filter((work) => work.shares.some((share) => share.name === name));
      return shares.every(({ name, most }) => used(name).length + 1 < most);
    },
  };
}

const ids = fc.integer({ min: 2, max: 8 }).map((count) => Array.from({ length: count }, (_, at) => `tenant-${at}`));
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      comes: fc.nat(),
      vendor: fc.constantFrom(...VENDORS),
      many: fc.integer({ min: 1, max: 30 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ ends: fc.nat() }) },
);
const history = fc.record({ ids, kind: fc.constantFrom(...KINDS), steps: fc.array(step, { maxLength: 40 }) });

test('no tenant holds more than a quarter of all places or of a vendor’s, no place is free for a waiter, and all begin', async () => {
  const property = fc.asyncProperty(history, async (given) => {
    const world = openTurns(given.ids);
    const { running, waiting, of } = world;
    const check = () => {
      for (const id of given.ids) {
        expect(of(running.values(), id)).toBeLessThanOrEqual(QUARTER);
        for (const vendor of VENDORS) expect(of(running.values(), id, vendor)).toBeLessThanOrEqual(Math.ceil(HALF / 4));
      }
      expect([...waiting.values()].filter(world.couldBegin)).toEqual([]);
    };
    let nth = 0;
    for (const each of given.steps) {
      if ('ends' in each) await world.end(each.ends);
      else {
        const tenant = given.ids[each.comes % given.ids.length] ?? '';
        for (let at = 0; at < each.many; at += 1, nth += 1) await world.come(given.kind, tenant, each.vendor, nth);
      }
      check();
    }
    for (let ends = 0; ends < nth; ends += 1) {
      await world.end(0);
      check();
    }
    expect({ running: running.size, waiting: waiting.size }).toEqual({ running: 0, waiting: 0 });
  });
  await fc.assert(property, { numRuns: 40 });
});

test('a job begins at once next to a tenant whose 80 connections never answer, and in turn next to tenants that come again and again', async () => {
  const property = fc.asyncProperty(fc.constantFrom(...KINDS), fc.nat(), async (kind, seed) => {
    const world = openTurns(['hung', 'busy-0', 'busy-1', 'busy-2', 'busy-3', 'healthy']);
    for (let nth = 0; nth < CONNECTIONS; nth += 1) await world.come(kind, 'hung', 'caldav', nth);
    expect(world.running.size).toBe(HALF / 4);
    await world.come(kind, 'healthy', 'caldav', 1_000);
    expect(world.of(world.running.values(), 'healthy')).toBe(1);
    for (let nth = 0; nth < 40; nth += 1) await world.come(kind, `busy-${nth % 4}`, 'caldav', nth);
    const ahead = world.waiting.size;
    await world.come(kind, 'healthy', 'caldav', 1_001);
    let ends = 0;
    for (; world.of(world.waiting.values(), 'healthy') > 0 && ends < 200; ends += 1) {
      // The hung tenant was first, and stays.
      await world.end(HALF / 4 + (seed % 7));
      await world.come(kind, `busy-${ends % 4}`, 'caldav', 100 + ends);
    }
    expect(ends).toBeLessThanOrEqual(ahead);
  });
  await fc.assert(property, { numRuns: 12 });
});

test('the only tenant of an installation uses all places', async () => {
  const world = openTurns(['only']);
  for (const vendor of VENDORS) for (let nth = 0; nth < 40; nth += 1) await world.come('push', 'only', vendor, nth);
  expect(world.running.size).toBe(3 * HALF);
});
