import { beforeEach, describe, expect, test } from 'vitest';
import { openActsLogins, PATIENT } from '../../control/acts-world.ts';
import { useRedis } from '../../support/redis.ts';
import { AURORA, allPages, openApiWorld, problemLike, ROSSI } from './api-world.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;
beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});
const get = async (path: string, visitor = 'viewer') => (await world.as(visitor)('GET', path)).body;

describe('a run', () => {
  test('is listed with the others, newest first', async () => {
    const run = await world.rossi.changedRun();
    const runs = await allPages((query) => world.as('viewer')('GET', `/tenants/${ROSSI}/runs?${query}`), 1);
    const stored = await world.rossi.tenant.runs.list(50);
    expect(runs.map((each) => (each as { id: string }).id)).toEqual(stored.map(({ id }) => id));
    expect((await get(`/tenants/${ROSSI}/changing-runs`)).runs).toMatchObject([{ run, updated: 1, deleted: 0 }]);
  });

  test('is undone after a look at what would come of it', async () => {
    const run = await world.rossi.changedRun();
    const undo = (body: object) => world.as('operator')('POST', `/tenants/${ROSSI}/runs/${run}/undo`, body);
    expect(await undo({})).toEqual(problemLike(400, 'request-invalid'));
    expect((await undo({ dryRun: true })).body).toMatchObject({ dryRun: true, records: [{ record: '1' }] });
    expect(world.entries).toEqual([]);
    expect((await undo({ dryRun: false })).body).toMatchObject({ dryRun: false, records: [{ result: 'restored' }] });
    expect(world.entries).toMatchObject([{ verb: 'undo' }, { verb: 'undo', outcome: 'done' }]);
    const released = await world.as('operator')('POST', `/tenants/${ROSSI}/runs/${run}/release`, {});
    expect(released.body).toEqual({ tenant: ROSSI, released: 0 });
  });

  test('that there is not is not found', async () => {
    const asked = await world.as('operator')('POST', `/tenants/${ROSSI}/runs/none/undo`, { dryRun: true });
    expect(asked).toEqual(problemLike(404, 'no-such-run'));
  });
});

describe('a patient', () => {
  test('is forgotten after a look at what goes, and neither answer nor log names them', async () => {
    const ask = (path: string) => world.as('owner')('POST', `/tenants/${ROSSI}/${path}`, { patient: PATIENT });
    expect((await ask('forget/preview')).body).toMatchObject({ isForgotten: false, appointments: 30 });
    const { status, body } = await ask('forget');
    expect([status, body.tenant]).toEqual([200, ROSSI]);
    expect((await get(`/tenants/${ROSSI}/receipts`)).receipts).toEqual([body]);
    expect(JSON.stringify([body, world.entries])).not.toContain(PATIENT);
    expect((await ask('follow-again')).body).toEqual({ tenant: ROSSI, changed: true });
  });

  test('who is forgotten stands in no plan and no task that was kept before', async () => {
    await world.as('operator')('POST', `/tenants/${ROSSI}/plans`, {});
    const { plans } = world.rossi.tenant;
    expect(await plans.ids()).toHaveLength(1);
    await world.as('owner')('POST', `/tenants/${ROSSI}/forget`, { patient: PATIENT });
    expect(await plans.ids()).toEqual([]);
  });
});

describe('reminders', () => {
  test('are told, explained, and their channels opened again', async () => {
    expect(await get(`/tenants/${ROSSI}/reminders`)).toMatchObject({ tenant: ROSSI, complete: true });
    const settled = await get(`/tenants/${ROSSI}/reminders?state=settled&limit=1`);
    expect(settled.reminders).toMatchObject([{ state: 'dropped', reason: 'booked-late', channel: 'text' }]);
    const told = await get(`/tenants/${ROSSI}/appointments/1/reminders`);
    expect(told).toMatchObject({ appointment: '1', source: { state: 'there' } });
    await world.rossi.closeChannel();
    const path = `/tenants/${ROSSI}/reminder-channels/text/reopen`;
    expect((await world.as('operator')('POST', path, {})).body).toMatchObject({ channel: 'text', changed: true });
  });

  test('of a tenant without any are not found', async () => {
    expect(await world.as('viewer')('GET', `/tenants/${AURORA}/reminders`)).toEqual(problemLike(409, 'no-reminders'));
  });
});

describe('logins and backups', () => {
  test('a link for a login is made, and the account of one is accepted', async () => {
    const logins = await openActsLogins(() => redis.connect());
    const open = await openApiWorld(redis.connect(), { loginServices: logins.desk });
    const path = `/tenants/${ROSSI}/connections/clinic`;
    const link = await open.as('operator')('POST', `${path}/login-link`, {});
    expect(link.body.url).toMatch(/^https:\/\/mirror\.example\/oauth\/login\/[\w-]{43}$/);
    const asked = await open.as('operator')('POST', `${path}/account`, { account: 'somebody' });
    expect(asked).toEqual(problemLike(409, 'not-connected'));
    expect(open.entries.map(({ verb, outcome }) => `${verb} ${outcome}`)).toEqual([
      ...['login-link begun', 'login-link done', 'accept-account begun', 'accept-account failed'],
    ]);
    await open.app.close();
  });

  test('a backup is made for owners alone', async () => {
    const made = await world.as('owner')('POST', `/tenants/${AURORA}/backup`, {});
    expect(made.body).toEqual({ backup: 'sealed' });
    expect(world.entries).toMatchObject([{ verb: 'backup', tenant: AURORA }, { outcome: 'done' }]);
  });
});

describe('the audit log', () => {
  test('is told newest first, page by page, each act once, by tenant and verb', async () => {
    await world.as('owner')('POST', `/tenants/${AURORA}/backup`, {});
    await world.as('operator')('POST', `/tenants/${ROSSI}/audit`, { reason: 'INC-9' });
    const all = await allPages((query) => world.as('viewer')('GET', `/audit-log?${query}`), 1);
    const ends = world.entries.filter(({ act }) => act !== null);
    expect(ends).toHaveLength(2);
    expect(all).toEqual(ends.reverse());
    const { items } = await get('/audit-log?verb=audit');
    expect(items).toMatchObject([{ verb: 'audit', outcome: 'done', why: 'INC-9' }]);
  });

  test('tells whoever may see one tenant of that one alone', async () => {
    await world.as('owner')('POST', `/tenants/${AURORA}/backup`, {});
    await world.as('owner')('POST', `/tenants/${ROSSI}/backup`, {});
    const [first] = world.entries;
    if (first === undefined) throw new Error('nothing was recorded');
    world.entries.push({ ...first, tenant: null, sequence: world.entries.length + 1 });
    expect((await get('/audit-log', 'viewer')).items).toHaveLength(3);
    const { items } = await get('/audit-log', 'viewer-of-aurora');
    expect(items.map(({ tenant }: { tenant: string }) => tenant)).toEqual([AURORA]);
    expect((await get(`/audit-log?tenant=${ROSSI}`, 'viewer-of-aurora')).items).toEqual([]);
  });

  test('refuses a place that it never gave', async () => {
    expect(await world.as('viewer')('GET', '/audit-log?after=bm8')).toEqual(problemLike(400, 'cursor-unusable'));
  });
});
