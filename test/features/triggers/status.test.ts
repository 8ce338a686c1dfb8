import { beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { listTriggers } from '../../../src/features/triggers/triggers.ts';
import { PLAIN_COLUMNS } from '../../../src/operator/cli/output.ts';
import { renderTriggers } from '../../../src/operator/cli/render-triggers.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { report, usePortal } from './trigger-world.ts';

const redis = useRedis();
const ID = 'studio-rossi';
const portal = usePortal(redis, { mostAtOnce: 3 });
beforeEach(async () => void (await portal.world.turn()));

const installation = () => openInstallation({ tenants: [portal.world.open()] });
const shown = async () => renderTriggers(await listTriggers(installation(), ID));
const add = (...ids: string[]) => {
  for (const id of ids) portal.world.documents.reports.set(id, report(id));
};
const answer = (code: number) => portal.receiver.kit.faults.add({ times: 1, fault: { kind: 'status', status: code } });
const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));

describe('the list of triggers', () => {
  test('shows sent messages with their time', async () => {
    add('r1', 'r2');
    await portal.world.turn();
    const list = await listTriggers(installation(), ID);
    expect(list.endpoints[0]).toMatchObject({ endpoint: 'portal', closed: null, lastSentAt: portal.world.now });
    expect(list.endpoints[0]?.events[0]).toMatchObject({ event: 'report.available', sent: 2, waiting: 0, off: null });
    expect(await shown()).toMatch(/portal +report\.available +on +2026-11-30 .* 2 +0 +0 +0/);
    expect(JSON.stringify(list)).not.toMatch(/r1|patient-of/);
  });

  test('shows failures, their reason, and the time of the next attempt', async () => {
    answer(503);
    add('r1');
    await portal.world.turn();
    const [first] = (await listTriggers(installation(), ID)).endpoints;
    expect(first?.events[0]).toMatchObject({ waiting: 1, failing: 1, lastCode: 'webhook-unavailable', failedTries: 1 });
    expect(first?.events[0]?.nextTryAt).toBeGreaterThan(portal.world.now);
    expect(await shown()).toMatch(/portal: failing since .* \(webhook-unavailable\), next retry /);
    expect(widest(await shown())).toBeLessThanOrEqual(PLAIN_COLUMNS);
  });

  test('shows an overdue attempt as due, never as a next attempt in the past', async () => {
    answer(503);
    add('r1');
    await portal.world.turn();
    portal.world.now += DAY_MS;
    const { endpoints } = await listTriggers(installation(), ID);
    expect(endpoints[0]?.events[0]).toMatchObject({ failing: 1, nextTryAt: null });
  });

  test('is refused for a tenant without triggers', async () => {
    const bare = openTenant({ redis: redis.connect(), clinic: createModelClinic(), targets: [], clock: () => 0 });
    await expect(listTriggers(openInstallation({ tenants: [bare] }), ID)).rejects.toMatchObject({
      code: 'no-triggers',
    });
  });
});
