import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { decideHold, listHolds } from '../../../src/features/holds/holds.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { openBooked, openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle } from '../../tenant/cycle.ts';

const redis = useRedis();

describe('holds', () => {
  test('are listed open ones first, and the newest first', async () => {
    const tenants = ['a', 'b'].map((id) => openBooked(redis, 0, { id }).tenant);
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

  test('that are decided request a pull; an approved first run begins', async () => {
    const { model, tenant, installation } = openBooked(redis, 3, {}, { firstRun: 'plan' });
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
