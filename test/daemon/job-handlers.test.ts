import { describe, expect, test } from 'vitest';
import type { Composition } from '../../src/daemon/compose.ts';
import { jobHandlers } from '../../src/daemon/job-handlers.ts';
import type { JobHandlers } from '../../src/tenant/job-catalogue.ts';

const NEVER = new AbortController().signal;
const SIGNALS = { stop: NEVER, abort: NEVER, taken: 0 } as unknown as Parameters<JobHandlers['pull']>[1];

/** Returns a composition that records queued jobs; any other use of a tenant throws. */
function composed(tenant: object | null, unchecked: readonly string[] = []) {
  const queued: string[] = [];
  const opened: string[] = [];
  const queues = new Proxy(
    {},
    {
      get:
        (_, verb) =>
        async (...args: unknown[]) =>
          queued.push(`${String(verb)} ${args.slice(0, 2).join(' ')}`),
    },
  );
  const composition = {
    ...{ queues, composed: new Map(), configuration: { unchecked: new Set(unchecked) } },
    installation: { tenants: new Map(tenant === null ? [] : [['aurora', tenant]]) },
    whileOpen: (id: string, work: () => Promise<void>) => {
      opened.push(id);
      return work();
    },
  } as unknown as Composition;
  return { handlers: jobHandlers(composition), queued, opened };
}

/** Returns a tenant that throws on any use except of the given members. */
function tenantOf(named: object): object {
  return new Proxy(named, {
    get: (target, name) => {
      if (name in target) return target[name as keyof typeof target];
      throw new Error(`used ${String(name)}`);
    },
  });
}

const TARGETS = new Map([
  ['room', { configuration: { paused: true } }],
  ['doctor', { configuration: { paused: false } }],
]);

async function doAll(handlers: JobHandlers, names: readonly (keyof JobHandlers)[]) {
  for (const name of names) {
    const handle = handlers[name] as (data: object, signals: unknown) => Promise<void>;
    await handle({ tenant: 'aurora', target: 'doctor', reminder: 'r1' }, SIGNALS);
  }
}

describe('a job', () => {
  test('of a removed tenant does nothing', async () => {
    const { handlers, queued } = composed(null);
    await doAll(handlers, Object.keys(handlers) as (keyof JobHandlers)[]);
    expect(queued).toEqual([]);
  });

  test('of a paused tenant reads, writes and sends nothing', async () => {
    const paused = tenantOf({ configuration: { paused: true }, targets: TARGETS });
    const { handlers, queued } = composed(paused);
    await doAll(handlers, ['pull', 'read-streams', 'push', 'audit', 'check-target', 'remind', 'triggers']);
    expect(queued).toEqual([]);
  });

  test('of a paused target does not audit it', async () => {
    const { handlers, queued } = composed(tenantOf({ configuration: { paused: false }, targets: TARGETS }));
    await handlers['check-target']({ tenant: 'aurora', target: 'room' }, SIGNALS);
    await expect(handlers['check-target']({ tenant: 'aurora', target: 'doctor' }, SIGNALS)).rejects.toThrow('used');
    expect(queued).toEqual([]);
  });

  test('of an unchecked tenant waits, and does not open the tenant (tenant-unchecked)', async () => {
    const { handlers, opened } = composed(null, ['aurora']);
    await expect(handlers.pull({ tenant: 'aurora' }, SIGNALS)).rejects.toMatchObject({ code: 'tenant-unchecked' });
    expect(opened).toEqual([]);
  });

  test('keeps its tenant open until the job ends', async () => {
    const { handlers, opened } = composed(null);
    await handlers.pull({ tenant: 'aurora' }, SIGNALS);
    expect(opened).toEqual(['aurora']);
  });
});

test('an audit gives each target a separate turn', async () => {
  const { handlers, queued } = composed(tenantOf({ configuration: { paused: false }, targets: TARGETS }));
  await handlers.audit({ tenant: 'aurora' }, SIGNALS);
  expect(queued).toEqual(['checkTarget aurora room', 'checkTarget aurora doctor']);
});

test('an audit of only the changes concerns calendars', async () => {
  const targets = new Map([
    ['calendar', { crm: null }],
    ['contacts', { crm: {} }],
  ]);
  const { handlers, queued } = composed(tenantOf({ configuration: { paused: false }, targets }));
  await handlers.audit({ tenant: 'aurora', changesOnly: true }, SIGNALS);
  expect(queued).toEqual(['checkTarget aurora calendar']);
});
