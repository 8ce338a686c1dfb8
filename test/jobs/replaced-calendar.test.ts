import { expect, test } from 'vitest';
import { renderSync } from '../../src/cli/render-sync.ts';
import { status } from '../../src/control/status.ts';
import { syncTenant } from '../../src/control/sync.ts';
import { decideHold } from '../../src/features/holds/holds.ts';
import { DAY_MS } from '../../src/model/time.ts';
import { openInstallation } from '../control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { NOW } from '../sync/arbitraries.ts';
import { NEVER } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis();
const EVENTS = 12;

/** A calendar that was written to, and that a person deleted since; looked at by a new process. */
async function openReplaced(firstRun: 'plan' | 'apply') {
  const clinic = createModelClinic(EVENTS);
  const model = createModelTarget();
  const state = { now: NOW };
  const connection = redis.connect();
  const start = () => {
    const targets = [{ model, configuration: { firstRun } }];
    const tenant = openTenant({ redis: connection, clinic, clock: () => state.now, targets });
    const installation = openInstallation({ tenants: [tenant] });
    const sync = () =>
      syncTenant(installation, tenant.id, { progress: () => {}, signals: { stop: NEVER, abort: NEVER } });
    const approve = async () => {
      const [hold] = (await tenant.holds.list()).filter((one) => one.state === 'open');
      await decideHold(installation, { tenant: tenant.id, hold: hold?.id ?? '', decision: 'approved' });
    };
    const problems = async () =>
      (await status(installation)).problems.filter(({ subject }) => subject === 'target doctor');
    return { tenant, installation, sync, approve, problems };
  };
  const before = start();
  await before.sync();
  if (firstRun === 'plan') {
    await before.approve();
    await before.sync();
  }
  expect(model.objects()).toHaveLength(EVENTS);
  state.now += DAY_MS / 24;
  model.replaceCalendar();
  return { model, state, ...start() };
}

test('a calendar that was deleted is filled again, and that is told for three days', async () => {
  const { model, state, sync, problems } = await openReplaced('apply');
  const result = await sync();
  expect(renderSync(result)).toContain('doctor: its calendar was gone, and another one is written to');
  expect(model.objects()).toHaveLength(EVENTS);
  expect(await problems()).toMatchObject([{ code: 'calendar-replaced', needs: 'person', sinceAt: state.now }]);
  const toldUntil = state.now + 3 * DAY_MS;
  state.now += 1;
  expect(renderSync(await sync())).not.toContain('was gone');
  state.now = toldUntil;
  expect(await problems()).toHaveLength(1);
  state.now += 1;
  expect(await problems()).toEqual([]);
});

test('with firstRun: plan the new calendar is a first run too: nothing is in it before a person approves', async () => {
  const { model, tenant, sync, approve, problems } = await openReplaced('plan');
  await sync();
  expect(model.objects()).toEqual([]);
  expect((await tenant.holds.list()).filter(({ state }) => state === 'open')).toMatchObject([
    { kind: 'first-run', recordIds: { length: EVENTS } },
  ]);
  expect((await problems()).map(({ code }) => code).sort()).toEqual(['calendar-replaced', 'held']);
  await approve();
  await sync();
  expect(model.objects()).toHaveLength(EVENTS);
});
