import { describe, expect, test, vi } from 'vitest';
import { explain } from '../../src/control/explain.ts';
import { requireTenant } from '../../src/control/installation.ts';
import { planTenant } from '../../src/control/plan.ts';
import { resumeTargets } from '../../src/control/resume.ts';
import { status } from '../../src/control/status.ts';
import { syncTenant } from '../../src/control/sync.ts';
import { decideHold, listHolds } from '../../src/features/holds/holds.ts';
import { auditTarget } from '../../src/jobs/audit.ts';
import { laneLease } from '../../src/jobs/lanes.ts';
import type { OpenTenant } from '../../src/jobs/tenant.ts';
import { type Actor, MirrorError } from '../../src/model/errors.ts';
import { DAY_MS, HOUR_MS } from '../../src/model/time.ts';
import type { StoredTarget } from '../../src/state/targets.ts';
import { cycle, drain, NEVER, pull, targetOf } from '../jobs/cycle.ts';
import { createModelClinic } from '../jobs/model-clinic.ts';
import { createModelTarget } from '../jobs/model-target.ts';
import { openTenant, type TenantChoice } from '../jobs/open-tenant.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();
const SILENT = () => {};
const SIGNALS = { stop: NEVER, abort: NEVER };

function open(booked = 0, changes: Partial<TenantChoice> = {}, configuration = {}) {
  const clinic = createModelClinic();
  for (let index = 0; index < booked; index += 1) {
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 24 + index }));
  }
  const model = createModelTarget();
  const clock = { now: NOW };
  const tenant = openTenant({
    redis: redis.connect(),
    clinic,
    targets: [{ model, configuration }],
    clock: () => clock.now,
    ...changes,
  });
  return { clinic, model, clock, tenant, installation: openInstallation({ tenants: [tenant] }) };
}

async function stateOf(tenant: OpenTenant) {
  const { tenants } = await status(openInstallation({ tenants: [tenant] }));
  return tenants[0]?.targets[0];
}

function failureOf(actor: Actor): NonNullable<StoredTarget['failure']> {
  return { code: 'x', actor, message: 'm', remedy: null, texts: { message: 'm', remedy: null }, sinceAt: NOW };
}

describe('the word for a target', () => {
  test('is first-sync before its first complete cycle', async () => {
    const { tenant } = open();
    expect(await stateOf(tenant)).toMatchObject({ state: 'first-sync', inSyncAsOf: null });
  });

  test('is in-sync when nothing waits, fails or is held', async () => {
    const { tenant } = open(3);
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', inSyncAsOf: NOW, links: 3, oldestPendingAt: null });
  });

  test('is stale when nothing waits and the last cycle could not read the clinic', async () => {
    const { clinic, tenant } = open(3);
    await cycle(tenant);
    clinic.readAppointments = () => Promise.reject(new Error('away'));
    await pull(tenant);
    expect(await stateOf(tenant)).toMatchObject({ state: 'stale', inSyncAsOf: NOW });
  });

  test('is working while changes wait, and the freshness is that of the last time when none did', async () => {
    const { clinic, clock, tenant } = open(3);
    await cycle(tenant);
    clock.now += HOUR_MS;
    clinic.appointments.set('9', appointmentOf('9'));
    await pull(tenant);
    expect(await stateOf(tenant)).toMatchObject({
      state: 'working',
      inSyncAsOf: NOW,
      pending: 1,
      oldestPendingAt: clock.now,
    });
  });

  test('is failing when one of them failed', async () => {
    const { model, tenant } = open(3);
    model.fault = ({ recordId }) => (recordId === '1' ? 'refused' : null);
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ state: 'failing', failing: 1, pending: 1 });
  });

  test('is held when removals wait for a person', async () => {
    const { clinic, tenant } = open(30);
    await cycle(tenant);
    clinic.appointments.clear();
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ state: 'held', held: 30 });
  });

  test.each<[Actor, string]>([
    ['remote', 'resting'],
    ['authorization', 'stopped'],
  ])('tells a hold and an error of the whole target (%s) as two problems', async (actor, state) => {
    const { clinic, tenant, installation } = open(30);
    await cycle(tenant);
    clinic.appointments.clear();
    await cycle(tenant);
    await tenant.targetStore.write('doctor', { failure: failureOf(actor) });
    expect(await stateOf(tenant)).toMatchObject({ state, held: 30, inStep: 'held', canGoOn: 'waits-for-person' });
    const { problems } = await status(installation);
    expect(problems.map(({ code }) => code).toSorted()).toEqual(['held', 'x']);
    expect(problems.find(({ code }) => code === 'held')).toMatchObject({ needs: 'person' });
  });

  test('is first-sync until nothing waits for the first time, and working from then on, also with a gap', async () => {
    const { clinic, model, clock, tenant } = open(3);
    await pull(tenant);
    expect(await stateOf(tenant)).toMatchObject({ state: 'first-sync', firstSync: { written: 0, of: 3 } });
    const gap = { code: 'agenda-unknown', count: 1, what: ['4'], soon: [] } as const;
    await tenant.targetStore.write('doctor', { gaps: [gap] });
    await drain(tenant, targetOf(tenant));
    await tenant.targetStore.write('doctor', { gaps: [gap], idleAsOf: null });
    clock.now += HOUR_MS;
    clinic.appointments.set('9', appointmentOf('9'));
    model.fault = () => 'unavailable';
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ pending: 1, inStep: 'behind', firstSync: null });
  });

  test.each<[Actor, string]>([
    ['remote', 'resting'],
    ['conflict', 'resting'],
    ['authorization', 'stopped'],
    ['settings', 'stopped'],
    ['contract', 'stopped'],
  ])('after an error of the whole target whose actor is %s is %s', async (actor, state) => {
    const { tenant } = open(1);
    await cycle(tenant);
    await tenant.targetStore.write('doctor', { failure: failureOf(actor) });
    expect(await stateOf(tenant)).toMatchObject({ state, inSyncAsOf: NOW });
  });

  test.each([
    ['tenant', { paused: true }, {}],
    ['target', {}, { paused: true }],
  ])('is paused when the %s is, whatever else is the matter', async (_, changes, configuration) => {
    const { tenant } = open(1, changes, configuration);
    await tenant.targetStore.write('doctor', { failure: failureOf('authorization') });
    expect(await stateOf(tenant)).toMatchObject({ state: 'paused' });
  });
});

describe('status', () => {
  test('tells of every tenant, of those set aside too, and of one when it is named', async () => {
    const tenants = ['studio-rossi', 'studio-bianchi'].map((id) => open(0, { id, name: `Studio ${id}` }).tenant);
    const fault = { file: 'f', line: 1, column: 1, path: [], message: 'm', remedy: 'r' };
    const installation = openInstallation({
      tenants,
      unusable: [{ id: 'broken', faults: [fault as never, fault as never] }],
    });
    const view = await status(installation);
    expect(view).toMatchObject({
      at: NOW,
      tenants: [{ tenant: 'studio-rossi', lastRun: null }, { tenant: 'studio-bianchi' }],
      unusable: [{ tenant: 'broken', faults: 2 }],
    });
    expect((await status(installation, 'studio-bianchi')).tenants).toHaveLength(1);
  });

  test('of a tenant that is not there says which ones are', () => {
    const installation = openInstallation({ tenants: [open().tenant], unusable: [{ id: 'broken', faults: [] }] });
    const failure = (id: string) => {
      try {
        requireTenant(installation, id);
      } catch (error) {
        return error;
      }
      return null;
    };
    expect(failure('nobody')).toMatchObject({
      code: 'no-such-tenant',
      remedy: expect.stringContaining('studio-rossi'),
    });
    expect(failure('broken')).toMatchObject({
      code: 'tenant-set-aside',
      remedy: expect.stringContaining('config check'),
    });
  });
});

describe('a plan', () => {
  test('shows each change with its reason and fields, in the order of time, and writes nothing', async () => {
    const { clinic, model, tenant, installation } = open(14);
    await cycle(tenant);
    const calls = { ...model.calls };
    clinic.appointments.set('new', appointmentOf('new', { inHours: 2 }));
    clinic.appointments.set('0', appointmentOf('0', { inHours: 100 }));
    clinic.appointments.set('1', appointmentOf('1', { inHours: 25, status: 'cancelled' }));
    const view = await planTenant(installation, 'studio-rossi', SILENT, NEVER);
    expect(view).toMatchObject({
      tenant: 'studio-rossi',
      asOf: NOW,
      snapshot: { completeness: 'complete', records: 15 },
    });
    expect(view.targets[0]).toMatchObject({ target: 'doctor', links: 14, unchanged: 12, released: 0 });
    expect(view.targets[0]?.lines.map(({ fieldChanges: _, ...line }) => line)).toEqual([
      {
        record: 'new',
        operation: 'create',
        reason: 'new',
        fields: [],
        startAt: NOW + 2 * HOUR_MS,
        decision: 'go',
        fingerprint: expect.any(String),
        title: 'Appointment',
      },
      {
        record: '1',
        operation: 'delete',
        reason: 'cancelled',
        fields: [],
        startAt: NOW + 25 * HOUR_MS,
        title: null,
        decision: 'go',
        fingerprint: null,
      },
      {
        record: '0',
        operation: 'update',
        reason: 'content-changed',
        fields: ['time'],
        startAt: NOW + 100 * HOUR_MS,
        title: 'Appointment',
        decision: 'go',
        fingerprint: expect.any(String),
      },
    ]);
    expect(model.calls).toEqual(calls);
    expect(await tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
    expect(JSON.stringify(view)).not.toMatch(/Mario|Rossi/);
  });

  test('shows what would be held, and what a person refused', async () => {
    const { clinic, tenant, installation } = open(30);
    await cycle(tenant);
    for (let index = 0; index < 20; index += 1) clinic.appointments.delete(`${index}`);
    const verdicts = async () =>
      new Set(
        (await planTenant(installation, 'studio-rossi', SILENT, NEVER)).targets[0]?.lines.map(
          ({ decision: verdict }) => verdict,
        ),
      );
    expect(await verdicts()).toEqual(new Set(['held']));
    expect(await tenant.holds.list()).toEqual([]);
    await cycle(tenant);
    const [hold] = await listHolds(installation);
    await decideHold(installation, { tenant: 'studio-rossi', hold: hold?.id ?? '', decision: 'rejected' });
    expect(await verdicts()).toEqual(new Set(['refused']));
  });
});

describe('holds', () => {
  test('are listed open ones first, and the newest first', async () => {
    const tenants = ['a', 'b'].map((id) => open(0, { id }).tenant);
    const installation = openInstallation({ tenants });
    const context = (now: number) => ({ linkCount: 1, now, expiresAt: now + DAY_MS });
    const decided = await tenants[0]?.holds.cover('doctor', 'vanished', ['1'], context(NOW + 3));
    await decideHold(installation, { tenant: 'a', hold: decided?.id ?? '', decision: 'rejected' });
    await tenants[0]?.holds.cover('doctor', 'cancelled', ['1'], context(NOW));
    await tenants[1]?.holds.cover('doctor', 'cancelled', ['1'], context(NOW + 1));
    const seen = (await listHolds(installation)).map(({ tenant, state }) => `${tenant} ${state}`);
    expect(seen).toEqual(['b open', 'a open', 'a rejected']);
    expect(await listHolds(installation, 'b')).toHaveLength(1);
  });

  test('that are decided ask for a pull; a first run that is approved begins', async () => {
    const { model, tenant, installation } = open(3, {}, { firstRun: 'plan' });
    await cycle(tenant);
    const [hold] = await listHolds(installation);
    const { hold: decided } = await decideHold(installation, {
      tenant: 'studio-rossi',
      hold: hold?.id ?? '',
      decision: 'approved',
    });
    expect(decided).toMatchObject({ state: 'approved', tenant: 'studio-rossi', expiresAt: NOW + 7 * DAY_MS });
    expect(installation.pulled).toEqual(['studio-rossi']);
    await cycle(tenant);
    expect(model.objects()).toHaveLength(3);
  });
});

describe('an explanation', () => {
  const shownBecause = 'its agenda feeds this target, its status is shown, and it lies in the window';

  test.each([
    ['is shown', {}, {}, {}, shownBecause],
    ['of another agenda', { agendaId: 'a2' }, {}, { agendas: ['a1'] }, 'its agenda does not feed this target'],
    ['of a status', { status: 'no_show' }, {}, { statuses: ['booked'] }, 'the target does not show the status no_show'],
    ['in the past', { inHours: -24 * 9 }, {}, {}, 'it lies before the window: what was written stays'],
    ['far ahead', { inHours: 24 * 90 }, {}, {}, 'it lies beyond the window: it is written when it comes nearer'],
    ['of a paused tenant', {}, { paused: true }, {}, 'the tenant is paused'],
    ['of a paused target', {}, {}, { paused: true }, 'the target is paused'],
  ] as const)('of an appointment that %s says so', async (_, appointment, changes, configuration, because) => {
    const { clinic, installation } = open(0, changes, configuration);
    clinic.appointments.set('1', appointmentOf('1', appointment));
    const view = await explain(installation, 'studio-rossi', '1', NEVER);
    expect(view.targets[0]?.decision).toMatchObject({ shown: because === shownBecause, because });
    expect(view.source).toMatchObject({ state: 'there' });
  });

  test('tells what the target was given, what waits, what is held and what is the matter', async () => {
    const { clinic, model, tenant, installation } = open(30);
    await cycle(tenant);
    clinic.appointments.set('29', appointmentOf('29', { inHours: 99 }));
    model.fault = () => 'unavailable';
    for (let index = 0; index < 20; index += 1) clinic.appointments.delete(`${index}`);
    await cycle(tenant);
    await tenant.targetStore.write('doctor', { failure: failureOf('remote') });
    const key = targetOf(tenant).identity.key('29', 0);
    expect((await explain(installation, 'studio-rossi', '29', NEVER)).targets[0]).toMatchObject({
      link: { startAt: NOW + 53 * HOUR_MS, idAttempt: 0, remoteId: key },
      pending: { reason: 'content-changed', want: 'present', attempts: 1, lastError: 'server-error', parked: false },
      holds: [],
      failure: 'x',
    });
    const gone = await explain(installation, 'studio-rossi', '0', NEVER);
    expect(gone.source).toEqual({ state: 'absent' });
    expect(gone.targets[0]).toMatchObject({
      decision: { shown: false, because: 'the clinic has no such appointment' },
      pending: null,
      holds: [{ kind: 'vanished', state: 'open' }],
    });
    expect(JSON.stringify(gone)).not.toMatch(/Mario|Rossi/);
  });

  test('tells when each step was and by which evidence, from the comparison to the reading back', async () => {
    const { clinic, clock, tenant, installation } = open(2);
    await cycle(tenant);
    const wayOf = async () => (await explain(installation, 'studio-rossi', '1', NEVER)).targets[0]?.way;
    expect(await wayOf()).toMatchObject({
      compared: { at: NOW, found: 'same', fields: [] },
      written: { changes: [], version: expect.any(String), revision: expect.any(Number) },
    });
    clock.now += HOUR_MS;
    clinic.appointments.set('1', appointmentOf('1', { inHours: 99 }));
    expect(await wayOf()).toMatchObject({ compared: { at: NOW, found: 'newer', fields: ['time'] } });
    const run = await pull(tenant);
    expect(await wayOf()).toMatchObject({ compared: { at: clock.now, found: 'differs', fields: ['time'] } });
    await drain(tenant, targetOf(tenant));
    clock.now += HOUR_MS;
    expect(await wayOf()).toMatchObject({
      compared: { found: 'same' },
      written: { at: clock.now - HOUR_MS, changes: [{ effect: 'updated', reason: 'content-changed', run: run.id }] },
      readBack: { at: null, covers: false },
    });
    await auditTarget(tenant, targetOf(tenant), NEVER, { whole: true });
    expect(await wayOf()).toMatchObject({ readBack: { at: clock.now, covers: true } });
  });

  test('tells when the clinic cannot be asked, or its row cannot be used', async () => {
    const { clinic, installation } = open(1);
    clinic.unusable.add('0');
    const unusable = await explain(installation, 'studio-rossi', '0', NEVER);
    expect(unusable.source).toEqual({ state: 'unusable', code: 'bad-time', field: 'startsAt' });
    clinic.lookupsFail = true;
    const unknown = await explain(installation, 'studio-rossi', '0', NEVER);
    expect(unknown.source).toMatchObject({ state: 'unknown', code: 'server-error' });
    expect(unknown.targets[0]?.decision.because).toContain('could not be asked');
  });
});

describe('a sync on demand', () => {
  test('goes to the end and tells how far it came', async () => {
    const { model, installation } = open(25);
    const told: [string, number | undefined, number | undefined][] = [];
    const result = await syncTenant(installation, 'studio-rossi', {
      progress: (step, done, total) => told.push([step, done, total]),
      signals: SIGNALS,
    });
    expect(result).toMatchObject({
      tenant: 'studio-rossi',
      run: { error: null },
      targets: [{ state: 'in-sync', links: 25 }],
    });
    expect(model.objects()).toHaveLength(25);
    expect(told.at(0)?.[0]).toBe('reading the clinic');
    expect(told.at(-1)).toEqual(['writing', 25, 25]);
  });

  test('of a paused tenant reads and writes nothing, and says why', async () => {
    const { clinic, installation } = open(3, { paused: true });
    await expect(
      syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS }),
    ).rejects.toMatchObject({
      actor: 'settings',
      code: 'tenant-paused',
    });
    expect(clinic.counts.lists).toBe(0);
  });

  test('takes up a target at once that waited for a person, and leaves one in peace that asked for it', async () => {
    const { clinic, model, clock, installation, tenant } = open(2);
    await cycle(tenant);
    clinic.appointments.set('9', appointmentOf('9'));
    model.wholeTargetError = new MirrorError('x', { actor: 'authorization', code: 'login-refused', retry: 'never' });
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ state: 'stopped' });
    model.wholeTargetError = null;
    const result = await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS });
    expect(result.targets).toMatchObject([{ state: 'in-sync', links: 3 }]);
    clinic.appointments.set('10', appointmentOf('10'));
    const throttled = { actor: 'remote', code: 'rate-limited', retry: 'later', retryAfterMs: HOUR_MS } as const;
    model.wholeTargetError = new MirrorError('x', throttled);
    await cycle(tenant);
    const { apply } = model.calls;
    model.wholeTargetError = null;
    await resumeTargets(tenant);
    const resting = await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS });
    expect(resting.targets).toMatchObject([{ state: 'resting', pending: 1 }]);
    expect(model.calls.apply).toBe(apply);
    clock.now += 2 * HOUR_MS;
    expect(
      (await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS })).targets,
    ).toMatchObject([{ state: 'in-sync' }]);
  });

  test('tries what is parked, and a target that rests by our own choice', async () => {
    const { clinic, model, installation, tenant } = open(2);
    await cycle(tenant);
    clinic.appointments.set('9', appointmentOf('9'));
    model.fault = ({ recordId }) => (recordId === '9' ? 'refused' : null);
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ pending: 1, failing: 1 });
    model.fault = () => null;
    const failing = { actor: 'remote', code: 'server-unavailable', retry: 'later' } as const;
    model.wholeTargetError = new MirrorError('x', failing);
    clinic.appointments.set('10', appointmentOf('10'));
    await cycle(tenant);
    model.wholeTargetError = null;
    const { targets } = await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS });
    expect(targets).toMatchObject([{ state: 'in-sync', links: 4, pending: 0 }]);
  });

  test('asks a target once that a person must do something for, and does not wait for the time of the next try', async () => {
    let now = NOW;
    const { clinic, model, tenant, installation } = open(2, { clock: () => (now += 300) });
    await cycle(tenant);
    clinic.appointments.set('9', appointmentOf('9'));
    model.wholeTargetError = new MirrorError('x', { actor: 'authorization', code: 'login-refused', retry: 'never' });
    const { apply, prepare } = model.calls;
    const result = await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS });
    expect(result.targets).toMatchObject([{ state: 'stopped', pending: 1 }]);
    expect(model.calls).toMatchObject({ apply: apply + 1, prepare });
  });

  test('waits for another worker on the lane of a target that was stopped, once a person has acted', async () => {
    const { clinic, model, tenant, installation } = open(2);
    await cycle(tenant);
    clinic.appointments.set('9', appointmentOf('9'));
    model.wholeTargetError = new MirrorError('x', { actor: 'authorization', code: 'login-refused', retry: 'never' });
    await cycle(tenant);
    model.wholeTargetError = null;
    const { leases } = tenant;
    const another = await leases.tryTake(laneLease('doctor'));
    const tryTake = leases.tryTake.bind(leases);
    let refusals = 0;
    vi.spyOn(leases, 'tryTake').mockImplementation(async (...asked) => {
      const lease = await tryTake(...asked);
      // The cycle goes on without the lane, what writes does not.
      if (lease === null && ++refusals === 2) await another?.release();
      return lease;
    });
    const result = await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS });
    expect(result.targets).toMatchObject([{ state: 'in-sync', links: 3 }]);
  });
});
