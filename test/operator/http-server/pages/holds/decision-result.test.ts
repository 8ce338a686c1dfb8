import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../../../../src/core/model/time.ts';
import { listHolds, type TenantHold } from '../../../../../src/features/holds/holds.ts';
import { decisionResult } from '../../../../../src/operator/http-server/pages/holds/decision-result.ts';
import { useRedis } from '../../../../support/redis.ts';
import { cycle } from '../../../../tenant/cycle.ts';
import { openServices } from '../../open-services.ts';
import { CLINIC, usePages } from '../open-pages.ts';
import { pageContext, wordsOf } from '../page-context.ts';

const redis = useRedis({ isStored: true });

describe('the result of a decision', () => {
  const world = usePages(redis);

  /** Lets appointments vanish until they wait for a decision. */
  async function hold(): Promise<TenantHold> {
    const { clinic, tenant, clock, installation } = world();
    for (let index = 2; index < 30; index += 1) clinic.appointments.delete(`apt-${index}`);
    for (let time = 0; time < 2; time += 1) {
      await cycle(tenant);
      clock.now += HOUR_MS;
    }
    const open = (await listHolds(installation, CLINIC)).find(({ state }) => state === 'open');
    return open!;
  }

  async function told(language: 'en' | 'it', of: TenantHold): Promise<string> {
    const services = openServices(world().installation);
    return wordsOf(String(await decisionResult(pageContext({ language }), services, of)));
  }

  test('is none before the decision; then tells what stays, or what the next run does, and what it did', async () => {
    const { tenant, clock } = world();
    const open = await hold();
    expect(await told('en', open)).toBe('null');
    const decided = (state: 'rejected' | 'approved'): TenantHold => ({ ...open, state, decidedAt: clock.now });
    const rejected = decided('rejected');
    expect(await told('en', rejected)).toMatch(/28 events/);
    expect(await told('it', rejected)).toMatch(/28 eventi/);
    const approved = decided('approved');
    expect(await told('en', approved)).toContain('The next run removes 28 events from “doctor”.');
    await tenant.holds.decide(open.id, { state: 'approved', now: clock.now, expiresAt: clock.now + 24 * HOUR_MS }, {});
    clock.now += HOUR_MS;
    await cycle(tenant);
    expect(await told('en', approved)).toMatch(/The run at .* (wrote|planned) 28 changes to “doctor”/);
    expect(await told('it', approved)).toMatch(/28/);
  });
});
