// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Actor, MirrorError } from '../../../src/core/model/errors.ts';
import type { FirstSync, Health, SyncHealth, SyncStatus } from '../../../src/core/model/schemas.ts';
import { SYNC_HEALTH_WORDS, worseHealth } from '../../../src/core/model/sync-state.ts';
import { payloadOf, textOf } from '../../../src/features/alerts/texts.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';
import type { ConnectionStatus } from '../../../src/operator/control/status-schemas.ts';
import { openStatuses } from '../../../src/operator/control/statuses.ts';
import { addApi } from '../../../src/operator/http-server/api/api.ts';
import { createMcpServer } from '../../../src/operator/mcp-server/server.ts';
import { CLINIC_CONNECTION } from '../../../src/settings/tenant-schema.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, pull } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { runProgram } from '../cli/run-program.ts';
import { openPages } from '../http-server/pages/open-pages.ts';
import { contextWith } from '../operations/run-operation.ts';
import { openInstallation } from './open-installation.ts';
import { loginOf } from './status-of.ts';

/*
 * All interfaces must report the same state: one tenant in every possible combination of sync and health, and another tenant that was never
 * read.
 */

const redis = useRedis();
const TENANT = 'studio-rossi';

/** Opens a tenant with a calendar of three appointments, before its first read. */
async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const clock = { now: NOW };
  const clinic = createModelClinic();
  const book = (id: string) =>
    clinic.appointments.set(id, appointmentOf(id, { inHours: 24 + clinic.appointments.size }));
  for (const id of ['a', 'b', 'c']) book(id);
  const model = createModelTarget();
  const given = { redis: connection, clock: () => clock.now };
  const tenant = openTenant({ ...given, clinic, targets: [{ model }] });
  const other = openTenant({
    ...{ ...given, id: 'aurora', clinic: createModelClinic() },
    targets: [{ model: createModelTarget() }],
  });
  const connections: ConnectionStatus[] = [];
  const installation = {
    ...openInstallation({ tenants: [tenant, other] }),
    connections: async ({ id }: { id: string }) => (id === TENANT ? connections : []),
  };
  return { clinic, book, model, clock, connections, tenant, installation, cycle: () => cycle(tenant) };
}
type World = Awaited<ReturnType<typeof open>>;

const errorOf = (actor: Actor) => new MirrorError('it says no', { actor, code: 'no', retry: 'later' });
const loggedOut = ({ connections }: World) =>
  connections.push(loginOf('needs-login', { connection: CLINIC_CONNECTION, kind: 'clinic' }));
/** One more appointment, which the target does not take. */
async function refusedAsAWhole(world: World, actor: Actor): Promise<void> {
  await world.cycle();
  world.book('d');
  world.model.wholeTargetError = errorOf(actor);
  await world.cycle();
}

const COMBINATIONS: [SyncStatus, Health, how: string, bring: (world: World) => unknown, firstSync?: FirstSync][] = [
  ['in-sync', 'ok', 'all was written', (world) => world.cycle()],
  [
    'in-sync',
    'action-required',
    'its login ended when all was written',
    async (world) => {
      await world.cycle();
      loggedOut(world);
    },
  ],
  [
    'behind',
    'retrying',
    'one appointment is refused',
    async (world) => {
      await world.cycle();
      world.book('d');
      world.model.fault = ({ recordId }) => (recordId === 'd' ? 'unavailable' : null);
      await world.cycle();
    },
  ],
  ['behind', 'retrying', 'the vendor is away', (world) => refusedAsAWhole(world, 'remote')],
  ['behind', 'action-required', 'the vendor asks for a login', (world) => refusedAsAWhole(world, 'authorization')],
  ['on-hold', 'action-required', 'a person must decide', (world) => refusedAsAWhole(world, 'guard')],
  [
    'on-hold',
    'action-required',
    'a person must decide, while the vendor is away',
    async (world) => {
      for (let index = 0; index < 30; index += 1) world.book(`${index}`);
      await world.cycle();
      world.clinic.appointments.clear();
      await world.cycle();
      world.book('d');
      world.model.wholeTargetError = errorOf('remote');
      await world.cycle();
    },
  ],
  ['behind', 'ok', 'nothing was read yet', () => {}, { written: 0, of: null }],
  ['behind', 'ok', 'all was read', ({ tenant }) => pull(tenant), { written: 0, of: 3 }],
  [
    'behind',
    'retrying',
    'one of the first appointments is refused',
    async (world) => {
      world.model.fault = ({ recordId }) => (recordId === 'b' ? 'unavailable' : null);
      await world.cycle();
    },
    { written: 2, of: 3 },
  ],
  [
    'behind',
    'retrying',
    'the vendor is away from the beginning',
    async (world) => {
      world.model.wholeTargetError = errorOf('remote');
      await world.cycle();
    },
    { written: 0, of: null },
  ],
  [
    'behind',
    'action-required',
    'the connection is not set up: no one has signed in yet',
    loggedOut,
    { written: 0, of: null },
  ],
  [
    'unknown',
    'action-required',
    'the clinic lists no agenda of its name',
    async ({ cycle: first, tenant }) => {
      await first();
      const gap = { code: 'agenda-unknown' as const, count: 1, what: ['4'], soon: [] };
      await tenant.targetStore.write('doctor', { gaps: [gap] });
    },
  ],
  [
    'unknown',
    'retrying',
    'the clinic is away',
    async (world) => {
      await world.cycle();
      world.clinic.listError = errorOf('remote');
      await world.cycle();
    },
  ],
  [
    'unknown',
    'action-required',
    'the clinic is away, and its login has ended',
    async (world) => {
      await world.cycle();
      world.clinic.listError = errorOf('remote');
      await world.cycle();
      loggedOut(world);
    },
  ],
];

/** Returns the text that a user reads. */
function worded({ sync, health }: SyncHealth, firstSync: FirstSync | null) {
  const { written = 0, of = null } = firstSync ?? {};
  const step = of === null ? SYNC_HEALTH_WORDS.en[sync] : `behind, first sync: ${written} of ${of} written`;
  return [step, SYNC_HEALTH_WORDS.en[health]];
}
/** The first two words of this clinic on a page, and of how many there are any. */
function marksIn(page: string): (string | undefined)[] {
  const own = page.slice(Math.max(0, page.indexOf(`id="${TENANT}"`)));
  return [/class="mark [\w-]+">.*?<\/svg>([^<]+?) *</.exec(own)?.[1], /class="able \w+">([^<]+)</.exec(own)?.[1]];
}

/** Returns every interface's report of the tenant. */
async function surfacesOf({ installation, clock }: World) {
  const statuses = openStatuses();
  const metrics = createMetrics(() => installation, { statuses });
  const { app, see } = await openPages({
    ...{ installation, desk: { statuses } },
    before: (server, desk) => addApi(server, desk),
  });
  const api = async (path: string) => (await app.inject({ url: `/api/v1${path}` })).json();
  const run = async (...args: string[]) => (await runProgram(args, { installation })).out;
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = createMcpServer(contextWith({ installation }), '0.1.0');
  await server.connect(ours);
  onTestFinished(() => server.close());
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(theirs);
  const { structuredContent } = await client.callTool({ name: 'status', arguments: { tenant: TENANT } });
  const problems = (await metrics.problems()).filter(({ tenant }) => tenant === TENANT);
  const digest = { begun: problems, again: [], over: [], others: 0 };
  return {
    overview: await see('/'),
    page: await see(`/tenants/${TENANT}`),
    list: (await api('/tenants')).items.find(({ tenant }: { tenant: string }) => tenant === TENANT),
    one: await api(`/tenants/${TENANT}`),
    all: await run('status'),
    single: await run('status', TENANT),
    json: JSON.parse(await run('status', TENANT, '--json')).tenants[0],
    figures: await metrics.render(),
    assistant: (structuredContent as { tenants: SyncHealth[] }).tenants[0],
    problems,
    ...{ mail: textOf(digest, clock.now, 'en').text, payload: payloadOf(digest, clock.now).data.begun.problems },
  };
}

describe('every interface shows the same two states of a clinic', () => {
  test.each(COMBINATIONS)('%s and %s: %s', async (sync, health, _how, bring, firstSync = undefined) => {
    const world = await open();
    await bring(world);
    const syncHealth = { sync, health };
    const [step, able] = worded(syncHealth, firstSync ?? null);
    const told = await surfacesOf(world);
    const short = step?.replace(/first sync: (\d) of (\d) written$/, '$1/$2');
    for (const one of [told.list, told.one, told.one.targets[0], told.json, told.json.targets[0], told.assistant]) {
      expect(one).toMatchObject({ ...syncHealth, firstSync: firstSync ?? null });
    }
    expect(marksIn(told.overview)).toEqual([step, able]);
    expect(marksIn(told.page)).toEqual([step, able]);
    expect(told.all).toMatch(new RegExp(`^${TENANT} +${short} +${able} {2,}`, 'm'));
    expect(told.all).toMatch(/^aurora +behind +ok {2,}/m);
    expect(told.single).toMatch(new RegExp(`^ +sync: ${step}\\b.*; health: ${able}$`, 'm'));
    expect(told.single).toMatch(new RegExp(`^ +doctor .* ${short} +${able} {2,}`, 'm'));
    const labels = `sync="${sync}",health="${health}"`;
    expect(told.figures.match(/^clinic_mirror_\w+_state\{tenant="studio-rossi".*$/gm)).toEqual([
      `clinic_mirror_tenant_state{tenant="${TENANT}",${labels}} 1`,
      `clinic_mirror_target_state{tenant="${TENANT}",target="doctor",${labels}} 1`,
    ]);
    for (const problem of [...told.problems, ...told.payload]) expect(problem.syncHealth).toEqual(syncHealth);
    if (told.problems.length > 0) expect(told.mail).toContain(`the clinic: ${SYNC_HEALTH_WORDS.en[sync]}, ${able}`);
    // A clinic in its first sync is neither ok nor a problem.
    const others = told.problems.length > 0 || firstSync !== undefined ? 0 : 1;
    expect(told.all).toMatch(
      new RegExp(`, ${2 - others - Number(told.problems.length > 0)} in first sync, ${others} ok$`, 'm'),
    );
    expect(/class="ok">(\d+) OK/.exec(told.overview)?.[1]).toBe(String(others));
    // The health says neither more nor less than the problems.
    const worst = told.problems.map((problem): Health => problem.health).reduce(worseHealth, 'ok');
    expect(worst).toBe(health);
  });
});
