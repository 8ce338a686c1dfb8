import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../../../../src/core/model/time.ts';
import { keys } from '../../../../../src/state/keys.ts';
import { NOW } from '../../../../domain/arbitraries.ts';
import { useRedis } from '../../../../support/redis.ts';
import { createModelClinic } from '../../../../tenant/model-clinic.ts';
import { createModelTarget } from '../../../../tenant/model-target.ts';
import { openTenant } from '../../../../tenant/open-tenant.ts';
import { openInstallation } from '../../../control/open-installation.ts';
import { OWNER, openActsPages, openPages } from '../open-pages.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';
const PAGE = `/tenants/${TENANT}/history`;

describe('the history', () => {
  test('has a chart, figures and a table for each target, and links to the other periods', async () => {
    const { see, changedRun } = await openActsPages(redis.connect(), { visitor: { ...OWNER, level: 'viewer' } });
    await changedRun();
    const page = await see(PAGE);
    for (const target of ['doctor', 'contacts']) expect(page).toContain(`id="history-${target}"`);
    expect(page.match(/class="plot" role="img"/g)).toHaveLength(4);
    expect(page).toContain('aria-label="Changes per day: 30 created, 1 changed, 0 deleted"');
    expect(page).toContain(`href="${PAGE}?days=30"`);
    expect(page).toContain(`clinic-mirror history ${TENANT} --days 1`);
    expect(page).toContain(`href="/tenants/${TENANT}/targets/doctor/changes?day=2026-06-15"`);
    expect(page).not.toMatch(/<style|\sstyle=/);
    expect(await see(`${PAGE}?days=30&target=doctor`)).not.toContain('history-contacts');
    expect(await see(`/tenants/${TENANT}`)).toContain(`href="${PAGE}"`);
  });

  test('answers in Italian, and an unknown period or target is no failure of the page', async () => {
    const { see, app } = await openActsPages(redis.connect());
    expect(await see(`${PAGE}?days=9`, { 'accept-language': 'it' })).toContain('<h1>Storico</h1>');
    expect((await app.inject({ url: `${PAGE}?target=nobody` })).statusCode).toBe(404);
  });

  test('is smaller than 60 kB with twenty full targets for 30 days, in pages', async () => {
    const connection = redis.connect();
    await connection.flushall();
    const ids = Array.from({ length: 20 }, (_, index) => `doctor-${index}`);
    const targets = ids.map((id) => ({ id, model: createModelTarget() }));
    const tenant = openTenant({ redis: connection, clinic: createModelClinic(), targets, clock: () => NOW });
    for (const id of ids) {
      for (let minutes = 31 * 24 * 60; minutes > 0; minutes -= 57) {
        const plannedAsOf = NOW - minutes * MINUTE_MS;
        await tenant.targetStore.recordFreshness(id, 0, { plannedAsOf, tookMs: 0, isIdle: minutes % 7 !== 0 });
      }
      for (let day = 0; day < 31; day += 1)
        await tenant.targetStore.count(
          id,
          { created: 100 + day, updated: 7 * day, deleted: day },
          NOW - day * 86_400_000,
        );
    }
    expect(await connection.exists(keys.history(tenant.id, 'doctor-19'))).toBe(1);
    const { see } = await openPages({ installation: openInstallation({ tenants: [tenant] }) });
    const page = await see(`${PAGE}?days=30`);
    expect(page.match(/<section class="history"/g)).toHaveLength(4);
    expect(Buffer.byteLength(page)).toBeLessThan(60_000);
    expect(Buffer.byteLength(await see(`${PAGE}?days=7`))).toBeLessThan(60_000);
    expect(page).toContain(`href="${PAGE}?days=30&amp;from=4"`);
    expect(await see(`${PAGE}?days=30&from=18`)).toContain('id="history-doctor-19"');
  }, 60_000);

  test('of a target without a cycle says so', async () => {
    const connection = redis.connect();
    await connection.flushall();
    const targets = [{ model: createModelTarget() }];
    const tenant = openTenant({ redis: connection, clinic: createModelClinic(), targets, clock: () => NOW });
    const { see } = await openPages({ installation: openInstallation({ tenants: [tenant] }) });
    expect(await see(PAGE)).toContain('No cycle has compared this target yet.');
  });
});

describe('what changed in a target', () => {
  test('lists the changes of a day with the time before and after, without a title', async () => {
    const { see, changedRun } = await openActsPages(redis.connect());
    await changedRun();
    const page = await see(`/tenants/${TENANT}/targets/doctor/changes?day=2026-06-15`);
    expect(page).toContain('on 2026-06-15</h1>');
    expect(page).toContain('30 created, 1 changed, 0 deleted.');
    expect(page).toMatch(/before: <time.*after: <time/s);
    expect(page).toContain(`href="/tenants/${TENANT}/targets/doctor/changes?day=2026-06-14"`);
    expect(page).not.toContain('Mario Rossi');
  });

  test('is of yesterday without a day, or with an unusable one', async () => {
    const { see } = await openActsPages(redis.connect());
    for (const query of ['', '?day=today', '?day=2026-02-31'])
      expect(await see(`/tenants/${TENANT}/targets/doctor/changes${query}`)).toContain('on 2026-06-14</h1>');
  });
});
