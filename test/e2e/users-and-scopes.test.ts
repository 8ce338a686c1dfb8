import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { PERMISSIONS } from '../../sandbox/clinic/authorization/accounts.ts';
import { authorizeInBrowser } from '../../sandbox/clinic/browser.ts';
import { openClinicAccess } from '../../src/daemon/clinic.ts';
import { requireEntry } from '../../src/daemon/open-connection.ts';
import type { RunReport } from '../../src/domain/runs.ts';
import { renderStatus } from '../../src/operator/cli/render-status.ts';
import { previewWrite, readClinic, readClinicRaw, writeClinic } from '../../src/operator/control/clinic.ts';
import { createMetrics } from '../../src/operator/control/metrics.ts';
import { status } from '../../src/operator/control/status.ts';
import type { Status } from '../../src/operator/control/status-schemas.ts';
import { syncTenant } from '../../src/operator/control/sync.ts';
import { probeClinic } from '../../src/setup/probe/probe.ts';
import { logInTo } from '../support/log-in.ts';
import { paced } from '../support/pace.ts';
import { useRedis } from '../support/redis.ts';
import type { SmallTarget, SmallTenant, SmallWorldOptions } from './support/small-configuration.ts';
import { EXACT, type SmallWorld, startSmallWorld, useSmallWorld } from './support/small-world.ts';
import { writesAt } from './support/traffic.ts';

const redis = useRedis();
const ALL_SCOPES = ['openid', 'offline_access', 'svc.agenda', 'svc.treatments', 'svc.patients'];
const WITH_TREATMENTS = { target: { fields: ['treatment'] } };

test('without permission for treatments, texts are removed once, until the permission returns', async () => {
  const { world, user, clinicId } = await syncedWorld(WITH_TREATMENTS);
  const before = await descriptions(world);
  expect(before.length).toBeGreaterThan(10);
  world.clinic.setPermissions(user.username, clinicId, without('treatments.read'));
  world.clinic.simulate(clinicId, { booked: 3, cancelled: 2 });

  // This process has treatments in its memory, another one can't know them: they must not write back and forth.
  const other = world.open();
  for (let cycles = 0; cycles < 3; cycles += 1) {
    await anotherCycle(other);
    await world.cycle();
    if (cycles === 0) forgetTraffic(world);
  }

  expect(world.targets.flatMap(({ proxy }) => writesAt(proxy))).toEqual([]);
  await expectFirstExact(world);
  expect(await descriptions(world)).toEqual([]);
  const withheld = [expect.objectContaining({ part: 'treatments', code: 'insufficient-permissions' })];
  expect((await shown(world)).lastRun).toMatchObject({ error: null, withheld });
  expect(await text(world)).toMatch(
    /left out of events: treatments \(insufficient-permissions\);.*permission for treatments\.list/,
  );

  expect(await metrics(world)).toContain(
    'clinic_mirror_catalogue_not_permitted{tenant="clinic-1",part="treatments"} 1',
  );

  world.clinic.setPermissions(user.username, clinicId, PERMISSIONS);
  const { run } = await world.cycle();
  expect(run.withheld).toEqual([]);
  expect(await metrics(world)).not.toContain('clinic_mirror_catalogue_not_permitted{');
  expect((await descriptions(world)).length).toBeGreaterThan(10);
});

test('a scope revoked from the connection disables only dependent features, until reconnected', async () => {
  const { world, user, clinicId } = await syncedWorld(WITH_TREATMENTS);
  reduceScopes(
    world,
    user.username,
    ALL_SCOPES.filter((scope) => scope !== 'svc.treatments'),
  );
  world.clinic.simulate(clinicId, { booked: 3, moved: 3, cancelled: 2 });

  await anotherCycle(world.open());
  const { run, targets } = await world.cycle();

  expect(run).toMatchObject({ error: null, withheld: [{ part: 'treatments', code: 'missing-claim' }] });
  expect(targets.map(({ sync }) => sync)).toEqual(['in-sync']);
  await expectFirstExact(world);
  expect(await text(world)).toMatch(/treatments \(missing-claim\);.*grant the scope svc\.treatments/);

  // The refresh itself reports the missing permission, from then on for the connection.
  await refreshClinic(world);
  expect(await text(world)).toMatch(
    /connection clinic \(clinic\): connected, missing-scopes, .*missing scopes: svc\.treatments/,
  );
  expect((await shown(world)).connections[0]).toMatchObject({ missingScopes: ['svc.treatments'] });

  await world.logIn({ connections: ['clinic'] });
  expect((await world.cycle()).run.withheld).toEqual([]);
  expect((await descriptions(world)).length).toBeGreaterThan(10);
});

test('without permission for patient names titles contain no name, and the rest continues', async () => {
  const { world, user, clinicId } = await syncedWorld({
    clinic: { embedPatient: false },
    targets: ['google-calendar', 'google-calendar'],
    target: { title: 'initials', titleReason: 'the tests look at titles' },
  });
  expect(await titlesWithInitials(world)).toBeGreaterThan(10);
  reduceScopes(
    world,
    user.username,
    ALL_SCOPES.filter((scope) => scope !== 'svc.patients'),
  );
  world.clinic.simulate(clinicId, { booked: 3, cancelled: 2 });

  const other = world.open();
  for (let cycles = 0; cycles < 2; cycles += 1) {
    await anotherCycle(other);
    await world.cycle();
    if (cycles === 0) forgetTraffic(world);
  }

  expect(world.targets.flatMap(({ proxy }) => writesAt(proxy))).toEqual([]);

  expect(await titlesWithInitials(world)).toBe(0);
  expect((await shown(world)).lastRun?.withheld).toMatchObject([
    { part: 'patients', code: 'missing-claim', remedy: expect.stringContaining('svc.patients') },
  ]);
  await expectFirstExact(world);
});

test.each([
  ['scope', 'missing-claim', 'svc.agenda'],
  ['permission', 'insufficient-permissions', 'appointments.list'],
] as const)(
  'without the %s for the agenda nothing is fetched or removed, and the missing permission is reported to the responsible person',
  async (what, code, named) => {
    const { world, user, clinicId } = await syncedWorld();
    const before = await remoteCount(world);
    if (what === 'scope') {
      reduceScopes(
        world,
        user.username,
        ALL_SCOPES.filter((scope) => scope !== 'svc.agenda'),
      );
    } else world.clinic.setPermissions(user.username, clinicId, without('agenda.read'));
    world.clinic.simulate(clinicId, { cancelled: 3 });

    const { run } = await world.cycle();

    expect(run.error).toMatchObject({ actor: 'authorization', code, remedy: expect.stringContaining(named) });
    await expectStale(world, run, before);

    world.clinic.setPermissions(user.username, clinicId, PERMISSIONS);
    await world.logIn({ connections: ['clinic'] });
    await twoCycles(world);
    await expectFirstExact(world);
  },
);

test('a tenant revoked from its user is reported in the next cycle, and nothing is removed', async () => {
  const { world, user, clinicId } = await syncedWorld({ tenants: 2 });
  const before = await remoteCount(world);
  world.clinic.simulate(clinicId, { cancelled: 3 });
  world.clinic.setPermissions(user.username, otherTenant(world), PERMISSIONS);
  world.clinic.leaveTenant(user.username, clinicId);

  const { run } = await world.cycle();

  expect(run.error).toMatchObject({ code: 'tenant-not-allowed', remedy: expect.stringContaining('clinic.tenantId') });
  await expectStale(world, run, before);

  world.clinic.setPermissions(user.username, clinicId, PERMISSIONS);
  await twoCycles(world);
  await expectFirstExact(world);
});

test('a user’s only tenant gives way to another one: that one is never taken for it, nor after a new start', async () => {
  const { world, user, clinicId } = await syncedWorld({ tenants: 2, unchosenTenant: true });
  const before = await remoteCount(world);
  const other = otherTenant(world);
  world.clinic.setPermissions(user.username, other, PERMISSIONS);
  world.clinic.simulate(clinicId, { booked: 2, cancelled: 2 });
  const opened = world.open();
  for (let looks = 0; looks < 2; looks += 1) await anotherCycle(opened);
  await expectFirstExact(world, 'a second tenant in the same clinic changes nothing');
  const between = await remoteCount(world);
  expect(between).toBeLessThanOrEqual(before + 2);

  world.clinic.leaveTenant(user.username, clinicId);
  for (const process of [world.opened(), world.open()]) {
    const { run } = await anotherCycle(process);
    expect(run.error).toMatchObject({ code: 'tenant-gone', remedy: expect.stringContaining(other) });
    await expectStale(world, run, between);
  }

  world.clinic.setPermissions(user.username, clinicId, PERMISSIONS);
  await world.cycle();
  await expectFirstExact(world);
});

test('a tenant that is taken away between a list and its absent records is no proof that they are gone', async () => {
  const { world, user, clinicId } = await syncedWorld();
  const [gone] = [...world.clinic.appointments(clinicId)].filter(isShown(world));
  const before = await remoteCount(world);
  world.clinic.remove(clinicId, gone?.id ?? '', 'hard');
  world.clinicProxy.add({
    url: new RegExp(`/appointments/${gone?.id}$`),
    fault: {
      kind: 'rewrite',
      request(request) {
        world.clinic.leaveTenant(user.username, clinicId);
        return request;
      },
    },
  });

  await world.cycle();
  expect(await remoteCount(world)).toBe(before);

  world.clinic.setPermissions(user.username, clinicId, PERMISSIONS);
  await twoCycles(world);
  await expectFirstExact(world);
  expect(await remoteCount(world)).toBe(before - 1);
});

test('a user with several tenants and none configured: nothing is fetched, the ids are shown, and an id in the file resumes the sync', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    tenants: 2,
    unchosenTenant: true,
    user: (clinic) => clinic.users.everyTenant,
  });
  const { id, clinicId } = world.tenants[0] as SmallTenant;

  const { run } = await world.cycle();
  const ids = world.clinic.tenants.map((tenant) => tenant.id).join(', ');
  expect(run.error).toMatchObject({ code: 'tenant-choice', remedy: `set clinic.tenantId to one of: ${ids}` });
  expect(await text(world)).toContain('(tenant-choice)');
  expect(await remoteCount(world)).toBe(0);

  const file = join(world.configDir, 'tenants', `${id}.yaml`);
  const content = parse(await readFile(file, 'utf8')) as { clinic: object };
  await writeFile(file, stringify({ ...content, clinic: { ...content.clinic, tenantId: clinicId } }));
  const chosen = await anotherCycle(world.open());
  expect(chosen.run).toMatchObject({ error: null, clinic: { tenantId: clinicId } });
  await expectFirstExact(world);
});

test('the sign-in of a user unknown to the clinic system fails, and none of its data is stored', async () => {
  const world = await startSmallWorld({ redisUrl: redis.url, user: (clinic) => clinic.users.unknownAbsent });
  onTestFinished(() => world.close());
  const { clinicId, user } = world.tenants[0] as SmallTenant;

  await expect(world.logIn()).rejects.toMatchObject({ actor: 'authorization', code: 'user-unknown' });
  expect((await shown(world)).connections[0]).toMatchObject({ connection: 'clinic', state: 'never' });

  world.clinic.setPermissions(user.username, clinicId, PERMISSIONS);
  await world.logIn();
  await world.cycle();
  await expectFirstExact(world);
});

test('a user without any tenant is shown as not connected until a cycle finds a tenant again', async () => {
  const { world, user, clinicId } = await syncedWorld();
  world.clinic.leaveTenant(user.username, clinicId);
  expect((await anotherCycle(world.open())).run.error).toMatchObject({ code: 'user-unknown' });
  expect(await text(world)).toContain('connection clinic (clinic): no-tenant, user-unknown');
  expect(await metrics(world)).toContain('clinic_mirror_needs_login{tenant="clinic-1",connection="clinic"} 1');

  world.clinic.setPermissions(user.username, clinicId, PERMISSIONS);
  await anotherCycle(world.open());
  expect(await text(world)).toContain('connection clinic (clinic): connected');
});

test('after a user moved to another tenant every command reports it, and nothing is written on any path', async () => {
  const { world, user, clinicId } = await syncedWorld({ tenants: 2, unchosenTenant: true });
  const other = otherTenant(world);
  world.clinic.setPermissions(user.username, other, PERMISSIONS);
  world.clinic.leaveTenant(user.username, clinicId);
  const theirs = [...world.clinic.appointments(other)][0]?.id ?? '';
  world.clinicProxy.forget();

  const access = openClinicAccess(world.open(), 'clinic-1');
  const signal = AbortSignal.timeout(paced(60_000));
  const ask = { resource: 'appointments', verb: 'read', ids: [], values: {}, parameters: [], pdf: null };
  const remove = { ...ask, verb: 'delete', ids: [theirs] };
  for (const work of [
    () => Array.fromAsync(readClinic(access, ask, signal)),
    () => Array.fromAsync(readClinicRaw(access, ask, signal)),
    () => probeClinic(access, () => {}, signal),
    () => previewWrite(access, remove, signal),
    () => writeClinic(access, remove, signal),
  ]) {
    await expect(work()).rejects.toMatchObject({ code: 'tenant-gone' });
  }
  const { code, err } = await world.cli('clinic', 'clinic-1', 'appointments', theirs, '--write', 'delete', '--yes');
  expect([code, err]).toEqual([1, expect.stringContaining('tenant-gone')]);
  const { promptClinic } = requireEntry(world.open().composed, 'clinic-1');
  await expect(promptClinic.setStatus(theirs, 'cancelled', signal)).rejects.toMatchObject({
    code: 'tenant-gone',
  });

  expect(world.clinicProxy.requests.filter(({ url, method }) => method !== 'GET' || url.includes(other))).toEqual([]);
  expect([...world.clinic.appointments(other)].map(({ id }) => id)).toContain(theirs);
});

test('the first sign-in binds the tenant: a tenant granted before the first cycle is not confused with it', async () => {
  const world = await startSmallWorld({ redisUrl: redis.url, tenants: 2, unchosenTenant: true });
  onTestFinished(() => world.close());
  const { user, clinicId, id } = world.tenants[0] as SmallTenant;
  await world.logIn({ tenant: id });
  world.clinic.setPermissions(user.username, otherTenant(world), PERMISSIONS);
  world.clinic.leaveTenant(user.username, clinicId);

  expect((await anotherCycle(world.open())).run.error).toMatchObject({ code: 'tenant-gone' });
  await expect(world.logIn({ tenant: id, connections: ['clinic'] })).rejects.toMatchObject({ code: 'tenant-gone' });
});

test('a connection made while the clinic is unreachable is stored, and shows that its user is unknown', async () => {
  const world = await startSmallWorld({ redisUrl: redis.url });
  onTestFinished(() => world.close());
  world.clinicProxy.add({
    url: /userinfo/,
    times: 3,
    fault: { kind: 'answer', answer: { status: 503, headers: {}, body: '' } },
  });
  const { user } = world.tenants[0] as SmallTenant;
  const result = await logInTo(world.opened(), { tenant: 'clinic-1', connection: 'clinic' }, (url) =>
    authorizeInBrowser(url, user),
  );
  expect(result.uncertainty).toMatchObject({ actor: 'remote', status: 503 });
  expect((await shown(world)).connections[0]).toMatchObject({ state: 'connected' });
});

test('a sign-in refreshes the permissions of the user; cycles without one keep them', async () => {
  const { world } = await syncedWorld();
  const readAgain = () => world.clinicProxy.requests.filter(({ url }) => /userinfo|\/agendas/.test(url)).length;
  world.clinicProxy.forget();
  await world.cycle();
  expect(readAgain()).toBe(0);

  await world.logIn({ connections: ['clinic'] });
  // The sign-in itself fetches the user; the cycle fetches again, since this process has an older answer.
  await world.cycle();
  expect(readAgain()).toBe(3);
});

test('a sign-in by a user without access to the tenant is refused, and the existing connection stays active', async () => {
  const { world } = await syncedWorld({ tenants: 2 });
  const [mine, others] = world.tenants as [SmallTenant, SmallTenant];
  mine.user = others.user;
  await expect(world.logIn({ tenant: mine.id, connections: ['clinic'] })).rejects.toMatchObject({
    code: 'tenant-not-allowed',
    remedy: expect.stringContaining(others.clinicId),
  });

  world.clinic.simulate(mine.clinicId, { booked: 2, cancelled: 2 });
  expect((await world.cycle()).run.error).toBe(null);
  await world.cycle();
  await expectFirstExact(world);
});

/** A world whose first tenant was synced once. */
async function syncedWorld(options: Partial<SmallWorldOptions> = {}) {
  const world = await startSmallWorld({ redisUrl: redis.url, ...options });
  onTestFinished(() => world.close());
  await world.logIn();
  const { run } = await world.cycle();
  expect(run).toMatchObject({ error: null, withheld: [] });
  const { clinicId, user } = world.tenants[0] as SmallTenant;
  return { world, clinicId, user };
}

function otherTenant(world: SmallWorld): string {
  return world.clinic.tenants[1]?.id ?? '';
}

function without(permission: (typeof PERMISSIONS)[number]) {
  return PERMISSIONS.filter((each) => each !== permission);
}

function reduceScopes(world: SmallWorld, username: string, scopes: string[]): void {
  world.clinic.reduceScopes(username, world.clinic.clients[0]?.clientId ?? '', scopes);
}

function metrics(world: SmallWorld): Promise<string> {
  return createMetrics(() => world.opened().installation).render();
}

async function refreshClinic(world: SmallWorld): Promise<void> {
  const login = world.opened().composed.get('clinic-1')?.connections.get('clinic');
  await login?.tokens?.authorizer.renew(AbortSignal.timeout(paced(60_000)));
}

/** Runs a cycle of the first tenant as another process would. */
function anotherCycle({ installation }: ReturnType<SmallWorld['open']>) {
  const { signal } = new AbortController();
  return syncTenant(installation, 'clinic-1', { progress: () => {}, signals: { stop: signal, abort: signal } });
}

function forgetTraffic({ targets }: SmallWorld): void {
  for (const { proxy } of targets) proxy.forget();
}

async function remoteCount({ targets }: SmallWorld): Promise<number> {
  return (await (targets[0] as SmallTarget).read()).length;
}

/** Text of the first calendar's events, without title and time. */
async function descriptions(world: SmallWorld): Promise<string[]> {
  return (await firstEvents(world)).flatMap(({ description }) =>
    typeof description === 'string' ? [description] : [],
  );
}

/** How many of the first calendar's titles are a patient's initials. */
async function titlesWithInitials(world: SmallWorld): Promise<number> {
  return (await firstEvents(world)).filter(({ summary }) => /^\p{L}\. \p{L}\.$/u.test(String(summary))).length;
}

async function firstEvents(world: SmallWorld) {
  const record = await world.opened().installation.tenants.get('clinic-1')?.targetStore.read('doctor-1');
  return world.google.events(record?.container ?? '');
}

function isShown({ targets }: SmallWorld) {
  return ({ agendaId, status: word, start }: { agendaId: string; status: string; start: number }) =>
    targets[0]?.agendaIds.includes(agendaId) === true && word === 'Booked' && start > Date.now();
}

async function shown(world: SmallWorld): Promise<Status['tenants'][number]> {
  const [tenant] = (await status(world.opened().installation, 'clinic-1')).tenants;
  if (tenant === undefined) throw new Error('there is no tenant');
  return tenant;
}

/** What `clinic-mirror status` prints, as one line. */
async function text(world: SmallWorld): Promise<string> {
  return renderStatus(await status(world.opened().installation, 'clinic-1')).replaceAll(/\s+/g, ' ');
}

/** Runs two cycles: a record gone from the clinic is removed after the second scan that misses it. */
async function twoCycles(world: SmallWorld): Promise<void> {
  for (let looks = 0; looks < 2; looks += 1) await world.cycle();
}

async function expectFirstExact(world: SmallWorld, when?: string): Promise<void> {
  expect((await world.compareAll())[0], when).toMatchObject(EXACT);
}

/** Expects the first tenant's calendar to be unchanged, and both forms of status to show the cause. */
async function expectStale(world: SmallWorld, { error }: RunReport, remoteEvents: number): Promise<void> {
  expect(await remoteCount(world)).toBe(remoteEvents);
  const tenant = await shown(world);
  expect(tenant.lastRun?.error).toEqual(error);
  expect(tenant.targets.map(({ reason, held, pending }) => ({ reason, held, pending }))).toEqual([
    { reason: 'read-failed', held: 0, pending: 0 },
  ]);
  expect(await text(world)).toContain(`(${error?.code}); ${error?.remedy}`);
}
