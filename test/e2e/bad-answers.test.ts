import { expect, test } from 'vitest';
import type { ProxyFault, ProxyRule } from '../../sandbox/kit/fault-proxy.ts';
import type { FaultRule } from '../../sandbox/kit/faults.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import type { SmallTenant } from './support/small-configuration.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { EXACT, expectExact, useSmallWorld } from './support/small-world.ts';
import { BATCHES, deletionsAt } from './support/traffic.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });

const LIST = '/appointments\\?';
const ONE = '/appointments/[^?/]+$';
const json = { 'content-type': 'application/json' };
const answer = (body: string, status = 200): ProxyFault => ({
  kind: 'answer',
  answer: { status, headers: json, body },
});

/** What the clinic, or whatever stands before it, may answer; every one of its appointments stands. */
const WRONG_ANSWERS: Record<string, { rules?: FaultRule[]; proxy?: ProxyRule[] }> = {
  'a list that ends early and hides it': {
    rules: [{ match: { path: LIST }, fault: { kind: 'truncate-list', keep: 3 } }],
  },
  'a list that ends early, betrayed by its total': {
    rules: [{ match: { path: LIST }, fault: { kind: 'truncate-list', keep: 3, trueTotal: true } }],
  },
  'a list that ends early, and 403 for each record': {
    rules: [
      { match: { path: LIST }, fault: { kind: 'truncate-list', keep: 3 } },
      { match: { path: ONE }, fault: { kind: 'status', status: 403 } },
    ],
  },
  'an empty list, and 500 for each record': {
    rules: [
      { match: { path: LIST }, fault: { kind: 'truncate-list', keep: 0 } },
      { match: { path: ONE }, fault: { kind: 'status', status: 500 } },
    ],
  },
  'an empty list, and HTML for each record': {
    rules: [
      { match: { path: LIST }, fault: { kind: 'truncate-list', keep: 0 } },
      { match: { path: ONE }, fault: { kind: 'html' } },
    ],
  },
  'an empty list, and 404 for each record': {
    rules: [{ match: { path: LIST }, fault: { kind: 'truncate-list', keep: 0 } }],
    proxy: [{ url: new RegExp(ONE), times: 1_000, fault: answer('{"error":"not_found"}', 404) }],
  },
  'an empty list, and 404 with HTML for each record': {
    rules: [{ match: { path: LIST }, fault: { kind: 'truncate-list', keep: 0 } }],
    proxy: [
      {
        url: new RegExp(ONE),
        times: 1_000,
        fault: {
          kind: 'answer',
          answer: { status: 404, headers: { 'content-type': 'text/html' }, body: '<p>Gone</p>' },
        },
      },
    ],
  },
  '403 for the list': { rules: [{ match: { path: LIST }, fault: { kind: 'status', status: 403 } }] },
  '404 for everything': { rules: [{ match: { path: '/v2/' }, fault: { kind: 'status', status: 404 } }] },
  '503 for everything': { rules: [{ match: { path: '/v2/' }, fault: { kind: 'status', status: 503 } }] },
  'the page of a captive portal': { rules: [{ match: { path: '/v2/' }, fault: { kind: 'html' } }] },
  'a cut connection': { proxy: [{ url: /appointments/, times: 100, fault: { kind: 'cut' } }] },
  'half an answer': { proxy: [{ url: /appointments/, times: 100, fault: { kind: 'cut-body' } }] },
  'no JSON': { proxy: [{ url: /appointments/, times: 100, fault: answer('{"data":[') }] },
  null: { proxy: [{ url: /appointments/, times: 100, fault: answer('null') }] },
  'an empty object': { proxy: [{ url: /appointments/, times: 100, fault: answer('{}') }] },
  'an empty text': { proxy: [{ url: /appointments/, times: 100, fault: answer('') }] },
  'rows that are no rows': {
    proxy: [{ url: /appointments/, times: 100, fault: answer('{"data":[1,null,"x"],"hasMore":false}') }],
  },
  'an answer of 70 MB': {
    proxy: [
      {
        url: /appointments\?/,
        times: 100,
        fault: answer(`{"data":[],"hasMore":false,"x":"${'x'.repeat(70_000_000)}"}`),
      },
    ],
  },
};

test('whatever the clinic answers, nothing is deleted that it does not confirm', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
  });
  await world.cycle();
  for (const [name, { rules = [], proxy = [] }] of Object.entries(WRONG_ANSWERS)) {
    for (const target of world.targets) target.proxy.forget();
    world.clinic.faults.add(...rules);
    for (const rule of proxy) world.clinicProxy.add(rule);

    await world.cycle();

    for (const target of world.targets) expect(deletionsAt(target.proxy), `${target.target}, ${name}`).toBe(0);
    await expectExact(world, name);
    world.clinic.faults.clear();
    world.clinicProxy.clear();
    world.clinicProxy.forget();
  }

  const { run } = await world.cycle();
  expect(run.error).toBeNull();
  await expectExact(world);
});

test("another clinic's data in the answers deletes nothing and is not shown", async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, tenants: 2, user: ({ users }) => users.everyTenant });
  await world.cycle('clinic-1');
  const [ours, other] = world.tenants as [SmallTenant, SmallTenant];
  const [target] = world.targets;
  for (const asked of ['with our agendas', 'with theirs']) {
    world.clinicProxy.clear();
    world.clinicProxy.add({
      url: /\/appointments/,
      times: 1_000,
      fault: {
        kind: 'rewrite',
        request: (request) => {
          const url = request.url.replace(ours.clinicId, other.clinicId);
          const agenda = asked === 'with theirs' ? (other.agendaIds[0] ?? '') : (ours.agendaIds[0] ?? '');
          return { ...request, url: url.replace(ours.agendaIds[0] ?? '', agenda) };
        },
      },
    });
    target?.proxy.forget();

    await world.cycle('clinic-1');

    expect(target === undefined ? null : deletionsAt(target.proxy)).toBe(0);
    expect((await world.compareAll())[0]).toMatchObject(EXACT);
  }
});

test('cancelled appointments missing from lists are found by individual fetches, and only they are removed', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url });
  const [tenant] = world.tenants;
  await world.cycle();
  const visits = [...world.clinic.appointments(tenant?.clinicId ?? '')].filter(isUpcomingVisit).slice(0, 4);
  for (const { id } of visits) world.clinic.cancel(tenant?.clinicId ?? '', id);
  world.clinic.faults.add({ fault: { kind: 'hide-cancelled' } });
  world.targets[0]?.proxy.forget();

  await world.cycle();

  expect(deletionsAt(proxyOf(world))).toBe(4);
  await expectExact(world);
});

test('bad rows are skipped with their codes while the others continue, and none of their objects is removed', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url });
  const clinicId = world.tenants[0]?.clinicId ?? '';
  await world.cycle();
  const variants = ['null-id', 'naive-time', 'impossible-time', 'end-before-start', 'wrong-types', 'not-an-object'];
  world.clinic.faults.add({ match: { path: LIST }, times: 1, fault: { kind: 'bad-rows', variants } });
  const last = [...world.clinic.appointments(clinicId)].filter(isUpcomingVisit).sort((a, b) => b.start - a.start)[0];
  world.clinic.cancel(clinicId, last?.id ?? '');
  world.clinic.book(clinicId, { start: (last?.end ?? 0) + 3_600_000 });
  proxyOf(world).forget();

  const { run, targets } = await world.cycle();

  expect(run.snapshot).toMatchObject({ records: expect.any(Number) });
  expect(Object.values(run.unusable).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(4);
  expect(deletionsAt(proxyOf(world))).toBe(1);
  await expectExact(world);
  expect(targets[0]?.pending).toBe(0);
  const { out } = await world.cli('status');
  expect(out).toMatch(/skipped records: \d+ [a-z-]+/);
  const examples = JSON.stringify(run.unusableExamples);
  expect(examples).not.toContain('row unavailable');
});

test.each(['lost-answer', 'cut', 'cut-body', 'html'] as const)(
  'answers of the targets that come as %s lead to no duplicate and no gap',
  async (kind) => {
    const world = await useSmallWorld({
      redisUrl: redis.url,
      davServer: radicale(),
      targets: FAMILIES,
      appointments: 30,
    });
    for (const { proxy } of world.targets) {
      proxy.add({ method: /^(POST|MKCALENDAR)$/, url: /calendars|clinic-mirror/, fault: { kind } });
      proxy.add({ method: /^PUT$/, times: 4, after: 2, fault: { kind } });
      proxy.add({ url: BATCHES, times: 2, fault: { kind } });
    }
    await untilSettled(world);
    await expectExact(world);
  },
  60_000,
);

/** Cycles until every target is in sync: a target pauses for a few seconds after an unusable answer. */
async function untilSettled(world: SmallWorld): Promise<void> {
  await waitFor(async () => (await world.cycle()).targets.every(({ sync }) => sync === 'in-sync'), {
    what: 'the targets to settle',
    intervalMs: 250,
  });
}

function proxyOf(world: SmallWorld) {
  const [target] = world.targets;
  if (target === undefined) throw new Error('the world has no target');
  return target.proxy;
}

function isUpcomingVisit({
  start,
  status,
  deleted,
  patientId,
}: {
  start: number;
  status: string;
  deleted: boolean;
  patientId: string | null;
}) {
  return start > Date.now() + 86_400_000 && status !== 'Cancelled' && !deleted && patientId !== null;
}
