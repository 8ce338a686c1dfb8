import { describe, expect, test } from 'vitest';
import { decideHold } from '../../../src/features/holds/decide.ts';
import { createApprovalStore } from '../../../src/state/stored-documents.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { openActing, person } from '../../operator/control/acting.ts';
import { openBooked } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle } from '../../tenant/cycle.ts';

const redis = useRedis();

/** Thirty removals that wait for a decision. */
async function openHold() {
  const { clinic, tenant, installation } = openBooked(redis, 30);
  await cycle(tenant);
  clinic.appointments.clear();
  await cycle(tenant);
  const [hold] = await tenant.holds.list();
  const store = createApprovalStore(redis.connect(), tenant.id, Buffer.alloc(32, 7), () => NOW);
  const as = (who: string, holdsAbove?: number) => openActing({ who: person(who), store, policy: { holdsAbove } });
  const approve = (acting: ReturnType<typeof as>, decision: 'approved' | 'rejected' = 'approved') =>
    decideHold(acting, installation, { tenant: tenant.id, hold: hold?.id ?? '', decision });
  return { tenant, installation, hold, as, approve };
}

describe('a hold', () => {
  test('above the limit is approved by two operators', async () => {
    const { tenant, as, approve } = await openHold();
    await expect(approve(as('anna', 29))).rejects.toMatchObject({ code: 'second-person-needed', actor: 'guard' });
    await expect(approve(as('anna', 29))).rejects.toMatchObject({ code: 'second-person-same' });
    expect(await tenant.holds.list()).toMatchObject([{ state: 'open' }]);
    const bruno = as('bruno', 29);
    await expect(approve(bruno)).resolves.toMatchObject({ hold: { state: 'approved' } });
    expect(bruno.recorded).toMatchObject([
      { verb: 'approve', outcome: 'begun', what: { target: 'doctor', items: 30, requestedBy: 'anna' } },
      { verb: 'approve', outcome: 'done' },
    ]);
  });

  test('that changed since the first approval requires a new first approval', async () => {
    const { tenant, hold, as, approve } = await openHold();
    await expect(approve(as('anna', 5))).rejects.toMatchObject({ code: 'second-person-needed' });
    await tenant.holds.erase(hold?.target ?? '', new Set(['3']));
    await expect(approve(as('bruno', 5))).rejects.toMatchObject({ code: 'second-person-needed' });
  });

  test('is approved part by part by one person only up to the limit, all parts together', async () => {
    const { tenant, installation, hold, as } = await openHold();
    const approve = (ids: readonly string[]) =>
      decideHold(
        as('anna', 10),
        installation,
        { tenant: tenant.id, hold: hold?.id ?? '', decision: 'approved' },
        { only: new Set(ids) },
      );
    const ids = hold?.recordIds ?? [];
    await approve(ids.slice(0, 6));
    await expect(approve(ids.slice(6, 12))).rejects.toMatchObject({ code: 'second-person-needed' });
    await approve(ids.slice(6, 10));
    expect((await tenant.holds.list()).find(({ state }) => state === 'open')?.recordIds).toHaveLength(20);
  });

  test('logs the decided part, and the rest waits however small it is', async () => {
    const { tenant, installation, hold, as } = await openHold();
    const acting = as('anna');
    const only = new Set(hold?.recordIds.slice(0, 28));
    await decideHold(acting, installation, { tenant: tenant.id, hold: hold?.id ?? '', decision: 'approved' }, { only });
    expect(acting.recorded[0]).toMatchObject({ verb: 'approve', what: { hold: hold?.id, items: 28, of: 30 } });
    await cycle(tenant);
    expect((await tenant.links.read('doctor')).size).toBe(2);
    expect((await tenant.holds.list()).filter(({ state }) => state === 'open')).toMatchObject([
      { id: hold?.id, recordIds: hold?.recordIds.slice(28) },
    ]);
  });

  test.each([
    ['of as many items as the limit is approved', 30, 'approved'],
    ['of more items is rejected', 5, 'rejected'],
  ] as const)('%s by one person', async (_, limit, decision) => {
    const { as, approve } = await openHold();
    await expect(approve(as('anna', limit), decision)).resolves.toMatchObject({ hold: { state: decision } });
  });
});
