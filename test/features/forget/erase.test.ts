import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { jobHandlers } from '../../../src/daemon/job-handlers.ts';
import { forgetPatient } from '../../../src/features/forget/forget.ts';
import { renderReceipt } from '../../../src/operator/cli/render-decisions.ts';
import { status } from '../../../src/operator/control/status.ts';
import { keys } from '../../../src/state/keys.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { pull, targetOf } from '../../tenant/cycle.ts';
import {
  counts,
  type ForgetWorld,
  forget,
  ID,
  MODELS,
  ofOther,
  openForgetWorld,
  openSynced,
  PATIENT,
  ring,
  SIGNALS,
  SILENT,
  visit,
} from './forget-world.ts';

const redis = useRedis({ appendOnly: false });
const synced = () => openSynced(redis.connect());

describe('an object without a link', () => {
  test('is found by its name and erased, even if it left the window months ago', async () => {
    const world = await synced();
    world.clock.now += 30 * DAY_MS;
    await world.pass();
    expect([...(await world.tenant.links.read('doctor')).keys()]).toEqual([]);
    expect(world.calendar.objects()).toHaveLength(5);
    const { targets } = await forget(world);
    expect(targets[0]).toMatchObject({ target: 'doctor', found: 3, erased: 3 });
    expect(world.calendar.objects()).toHaveLength(2);
  });

  test('is erased although it was deleted before: the bin may hold it', async () => {
    const world = await synced();
    world.clinic.appointments.set('visit-7731-a', visit('visit-7731-a', 30, { status: 'cancelled' }));
    await world.pass();
    expect((await world.tenant.links.readSome('doctor', ['visit-7731-a'])).size).toBe(0);
    for (const operations of Object.values(world.asked)) operations.length = 0;
    const { targets, upcoming } = await forget(world);
    expect(world.asked.doctor?.map(({ recordId }) => recordId).sort()).toEqual([
      'visit-7731-a',
      'visit-7731-b',
      'visit-7731-c',
    ]);
    expect([targets[0]?.found, upcoming]).toEqual([2, 1]);
  });

  test('is erased where the target burnt a name and took another', async () => {
    const world = openForgetWorld(redis.connect());
    world.calendar.burnsKeys = true;
    await world.pass();
    world.clinic.appointments.set('visit-7731-a', visit('visit-7731-a', 30, { status: 'cancelled' }));
    await world.pass();
    world.clinic.appointments.set('visit-7731-a', visit('visit-7731-a', 30));
    await world.pass();
    const link = (await world.tenant.links.readSome('doctor', ['visit-7731-a'])).get('visit-7731-a');
    expect(link?.idAttempt).toBe(1);
    world.clock.now += 30 * DAY_MS;
    await world.pass();
    await forget(world);
    expect(world.calendar.objects()).toHaveLength(2);
  });

  test('is found through the CRM if the clinic no longer has the patient', async () => {
    const world = await synced();
    const { clinic } = world;
    clinic.patientList.splice(0, 1);
    for (const id of [...clinic.appointments.keys()]) if (id.includes('7731')) clinic.appointments.delete(id);
    clinic.invoiceList.splice(0, 1);
    const { targets, warnings: notes } = await forget(world);
    expect(targets.map(({ target, found, erased }) => [target, found, erased])).toEqual([
      // The CRM shows which appointments belonged to the patient, which identifies the events in the calendar.
      ['doctor', 3, 3],
      ['contacts', 1, 1],
      ['visits', 3, 3],
      ['bills', 1, 1],
    ]);
    expect(notes).toContain('clinic-has-no-patient');
  });

  test('is found by the URL in a reminder, unless the appointment now belongs to another patient', async () => {
    const world = await synced();
    await ring(world);
    expect(world.gateway.delivered.map(({ appointment }) => appointment.id).sort()).toEqual([
      'visit-7731-a',
      'visit-7731-b',
      'visit-8842-a',
    ]);
    world.clinic.appointments.set('visit-7731-a', { ...ofOther('visit-7731-a', 30), id: 'visit-7731-a' });
    await world.pass();
    const { targets, state } = await forget(world);
    expect(targets[0]).toMatchObject({ target: 'doctor', found: 2, erased: 2 });
    expect(state.answerLinks).toBe(2);
    const kept = await world.tenant.reminders?.ledger.ofAppointment('visit-7731-a');
    expect(kept).toHaveLength(1);
  });
});

describe('a target that can’t be reached', () => {
  test('is reported, keeps its work in the outbox, and the next cycles end it without a trace', async () => {
    const world = await synced();
    world.calendar.wholeTargetError = new MirrorError('away', {
      actor: 'remote',
      code: 'server-error',
      retry: 'later',
      retryAfterMs: HOUR_MS,
    });
    const installation = openInstallation({ tenants: [world.again()] });
    const receipt = await forgetPatient(installation, ID, PATIENT, { progress: SILENT, signals: SIGNALS });
    expect(receipt.targets[0]).toMatchObject({ found: 3, erased: 0, waiting: 3, failed: 0, failure: 'server-error' });
    expect(receipt.warnings).toEqual(expect.arrayContaining(['target-not-searched', 'erasures-wait']));
    expect(installation.pulled).toEqual([ID]);
    expect(counts(world)).toEqual([5, 1, 2, 1]);
    expect(renderReceipt(receipt)).toContain('not complete: server-error');
    world.calendar.wholeTargetError = null;
    world.clock.now += 2 * HOUR_MS;
    await world.pass();
    expect(counts(world)).toEqual([2, 1, 2, 1]);
    expect(await world.tracesInRedis()).toEqual([]);
    expect((await forget(world)).targets[0]).toMatchObject({ found: 0, waiting: 0, failure: null });
  });

  test('has what it refuses counted as failed, and no cycle gives it up although its time has passed', async () => {
    const world = await synced();
    world.calendar.fault = ({ recordId }) => (recordId === 'visit-7731-c' ? 'refused' : null);
    expect((await forget(world)).targets[0]).toMatchObject({ found: 3, erased: 2, waiting: 0, failed: 1 });
    world.clock.now += 30 * DAY_MS;
    await world.pass();
    expect(await world.tenant.outbox.pendingOf('doctor', 'visit-7731-c')).toMatchObject({ reason: 'forgotten' });
    world.calendar.fault = () => null;
    world.clock.now += 2 * DAY_MS;
    await world.pass();
    expect(world.calendar.objects()).toHaveLength(2);
  });

  test('is worked on although it is paused', async () => {
    const world = await synced();
    const doctor = targetOf(world.tenant);
    doctor.configuration = { ...doctor.configuration, paused: true };
    expect((await forget(world)).targets[0]).toMatchObject({ found: 3, erased: 3 });
  });

  test('is processed by the daemon while it is paused, is reported meanwhile, and receives no other write', async () => {
    const world = await synced();
    const doctor = targetOf(world.tenant);
    world.clinic.appointments.set('visit-8842-c', ofOther('visit-8842-c', 33));
    await pull(world.tenant);
    doctor.configuration = { ...doctor.configuration, paused: true };
    world.calendar.wholeTargetError = new MirrorError('away', {
      ...{ actor: 'remote', code: 'server-error', retry: 'later', retryAfterMs: HOUR_MS },
    });
    expect((await forget(world)).targets[0]).toMatchObject({ waiting: 3 });
    const told = async () => (await status(world.installation)).problems.filter(({ code }) => code === 'erasures-wait');
    expect(await told()).toMatchObject([{ subject: 'target doctor', health: 'retrying', waiting: 3 }]);
    world.calendar.wholeTargetError = null;
    world.clock.now += 2 * HOUR_MS;
    const woken: unknown[] = [];
    const composition = {
      configuration: { unchecked: new Set() },
      installation: { tenants: new Map([[ID, world.tenant]]) },
      queues: { wake: async (...asked: unknown[]) => void woken.push(asked) },
      whileOpen: (_: string, work: () => Promise<void>) => work(),
    };
    const { push } = jobHandlers(composition as never);
    await push({ tenant: ID, target: 'doctor' }, SIGNALS as never);
    expect(counts(world)[0]).toBe(2);
    expect(await told()).toEqual([]);
    expect((await world.tenant.outbox.counts('doctor')).pending).toBe(1);
    const { operations } = world.calendar.calls;
    await push({ tenant: ID, target: 'doctor' }, SIGNALS as never);
    expect(world.calendar.calls.operations).toBe(operations);
  });

  describe.each([false, true])('whose record is not as we wrote it (paused: %s)', (paused) => {
    async function forged(): Promise<ForgetWorld> {
      const world = await synced();
      world.clock.now += 30 * DAY_MS;
      await world.pass();
      expect((await world.tenant.links.read('doctor')).size).toBe(0);
      const doctor = targetOf(world.tenant);
      doctor.configuration = { ...doctor.configuration, paused };
      const place = keys.target(ID, 'doctor');
      await world.connection.hdel(place, 'proof');
      await world.connection.hset(place, { container: 'calendar-1' });
      return world;
    }

    test('is searched, and objects without a link are erased', async () => {
      const world = await forged();
      const { targets, warnings: notes } = await forget(world);
      expect(targets[0]).toMatchObject({ found: 3, erased: 3 });
      expect(notes).not.toContain('target-not-searched');
      expect(world.calendar.objects()).toHaveLength(2);
    });

    test('is reported while it is unreachable, and its erasures wait', async () => {
      const world = await forged();
      world.calendar.wholeTargetError = new MirrorError('away', {
        actor: 'remote',
        code: 'server-error',
        retry: 'later',
        retryAfterMs: HOUR_MS,
      });
      const { targets, warnings: notes } = await forget(world);
      expect(targets[0]).toMatchObject({ waiting: 3, failure: 'server-error' });
      expect(notes).toEqual(expect.arrayContaining(['target-not-searched', 'erasures-wait']));
      world.calendar.wholeTargetError = null;
      world.clock.now += DAY_MS;
      expect((await forget(world)).targets[0]).toMatchObject({ waiting: 0, failed: 0 });
      expect(world.calendar.objects()).toHaveLength(2);
    });
  });

  test('that was never written to receives no request', async () => {
    const world = openForgetWorld(redis.connect());
    const { targets } = await forget(world);
    expect(targets.map(({ found }) => found)).toEqual([0, 0, 0, 0]);
    expect(MODELS(world).map(([, { calls }]) => calls.prepare)).toEqual([0, 0, 0, 0]);
  });
});
