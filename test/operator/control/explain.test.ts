import { describe, expect, test } from 'vitest';
import type { Actor } from '../../../src/core/model/errors.ts';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { auditTarget } from '../../../src/engine/audit-target.ts';
import type { StoredTarget } from '../../../src/engine/store.ts';
import { explain } from '../../../src/operator/control/explain.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, drain, NEVER, pull, targetOf } from '../../tenant/cycle.ts';
import { openBooked } from './open-installation.ts';

const redis = useRedis();

function failureOf(actor: Actor): NonNullable<StoredTarget['failure']> {
  return { code: 'x', actor, message: 'm', remedy: null, texts: { message: 'm', remedy: null }, sinceAt: NOW };
}

describe('an explanation', () => {
  const shownBecause = 'the agenda and the status are shown in this target, and the time is in the window';

  test.each([
    ['is shown', {}, {}, {}, shownBecause],
    [
      'of another agenda',
      { agendaId: 'a2' },
      {},
      { agendas: ['a1'] },
      'the agenda of the appointment is not shown in this target',
    ],
    ['of a status', { status: 'no_show' }, {}, { statuses: ['booked'] }, 'the target does not show the status no_show'],
    ['in the past', { inHours: -24 * 9 }, {}, {}, 'the appointment is before the window: the written event stays'],
    [
      'far ahead',
      { inHours: 24 * 90 },
      {},
      {},
      'the appointment is after the window: clinic-mirror writes the appointment later',
    ],
    ['of a paused tenant', {}, { paused: true }, {}, 'the tenant is paused'],
    ['of a paused target', {}, {}, { paused: true }, 'the target is paused'],
  ] as const)('of an appointment reports that it %s', async (_, appointment, changes, configuration, because) => {
    const { clinic, installation } = openBooked(redis, 0, changes, configuration);
    clinic.appointments.set('1', appointmentOf('1', appointment));
    const view = await explain(installation, 'studio-rossi', '1', NEVER);
    expect(view.targets[0]?.decision).toMatchObject({ shown: because === shownBecause, because });
    expect(view.source).toMatchObject({ state: 'there' });
  });

  test('shows the sent data, waiting changes, holds and problems', async () => {
    const { clinic, model, tenant, installation } = openBooked(redis, 30);
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
      decision: { shown: false, because: 'the appointment does not exist in the clinic' },
      pending: null,
      holds: [{ kind: 'vanished', state: 'open' }],
    });
    expect(JSON.stringify(gone)).not.toMatch(/Mario|Rossi/);
  });

  test('shows time and evidence of each step, from comparison to verification', async () => {
    const { clinic, clock, tenant, installation } = openBooked(redis, 2);
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

  test('reports that the clinic is unreachable, or that its record is unusable', async () => {
    const { clinic, tenant, installation } = openBooked(redis, 1);
    clinic.unusable.add('0');
    const unusable = await explain(installation, 'studio-rossi', '0', NEVER);
    expect(unusable.source).toEqual({ state: 'unusable', code: 'bad-time', field: 'startsAt' });
    clinic.lookupsFail = true;
    const unknown = await explain(installation, 'studio-rossi', '0', NEVER);
    expect(unknown.source).toMatchObject({ state: 'unknown', code: 'server-error' });
    expect(unknown.targets[0]?.decision.because).toContain('did not answer');
    clinic.lookupsFail = false;
    clinic.unusable.clear();
    await cycle(tenant);
    for (const fails of [true, false]) {
      clinic.lookupsFail = fails;
      const written = await explain(installation, 'studio-rossi', '0', NEVER);
      expect(written.targets[0]?.way.compared.found).toBe(fails ? 'unread' : 'same');
    }
  });
});
