import { expect, test } from 'vitest';
import { renderAudit } from '../../src/cli/render-audit.ts';
import { auditNow } from '../../src/control/audit.ts';
import { status } from '../../src/control/status.ts';
import { cycle, NEVER } from '../jobs/cycle.ts';
import { createModelClinic } from '../jobs/model-clinic.ts';
import { createModelTarget, type ModelTarget } from '../jobs/model-target.ts';
import { openTenant } from '../jobs/open-tenant.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { openEstate } from './open-estate.ts';

const redis = useRedis();
const SILENT = () => {};

/** Three appointments in two calendars, one that is repaired and one that is only reported on. */
async function open(paused = false) {
  const clinic = createModelClinic();
  for (const id of ['0', '1', '2']) clinic.appointments.set(id, appointmentOf(id, { inHours: 24 + Number(id) }));
  const models = [createModelTarget(), createModelTarget()] as const;
  const choice = {
    redis: redis.connect(),
    clinic,
    targets: [
      { id: 'doctor', model: models[0] },
      { id: 'room', model: models[1], configuration: { audit: { drift: 'report', rewritesPerDay: 1 } as const } },
    ],
    clock: () => NOW,
  };
  await cycle(openTenant(choice));
  const tenant = openTenant({ ...choice, paused });
  return { models, tenant, estate: openEstate({ tenants: [tenant] }) };
}

function retitle(model: ModelTarget): void {
  const [object] = model.objects();
  object!.item = { ...object!.item, title: 'Lunch' };
  object!.version += 1;
}

test('an audit on demand tells of each target by its policy, and asks for the cycle that restores', async () => {
  const { models, estate } = await open();
  for (const model of models) retitle(model);
  models[1].objects()[1]!.deleted = true;
  const steps: unknown[] = [];

  const view = await auditNow(estate, 'studio-rossi', (...step) => steps.push(step), NEVER);

  expect(view).toMatchObject({
    tenant: 'studio-rossi',
    targets: [
      { target: 'doctor', policy: 'repair', drift: { checked: 3, edited: 1, removed: 0, fields: { title: 1 } } },
      { target: 'room', policy: 'report', drift: { checked: 3, edited: 1, removed: 1, fields: { title: 1 } } },
    ],
  });
  expect(steps).toEqual([
    ['reading the targets back', 0, 2],
    ['reading the targets back', 1, 2],
  ]);
  expect(estate.pulled).toEqual(['studio-rossi']);
  const { tenants } = await status(estate);
  expect(tenants[0]?.targets.map(({ drift }) => drift)).toEqual(view.targets.map(({ drift }) => drift));
});

test('a paused tenant is not read back', async () => {
  const { estate, models } = await open(true);
  const refused = auditNow(estate, 'studio-rossi', SILENT, NEVER);
  await expect(refused).rejects.toMatchObject({ actor: 'settings', code: 'tenant-paused' });
  expect(models[0].calls.read).toBe(1);
  expect(estate.pulled).toEqual([]);
});

test('an unknown tenant is named with the ones there are', async () => {
  const { estate } = await open();
  const refused = auditNow(estate, 'nobody', SILENT, NEVER);
  await expect(refused).rejects.toMatchObject({ code: 'no-such-tenant', remedy: 'name one of: studio-rossi' });
});

test('a person reads counts, the fields that differ, what churns, and that a calendar was replaced', async () => {
  const { models, estate, tenant } = await open();
  for (const model of models) retitle(model);
  const look = async () => renderAudit(await auditNow(estate, 'studio-rossi', SILENT, NEVER));

  const first = await look();
  expect(first).toMatch(/^doctor +repair +3 +1 +0 +0 +title 1$/m);
  expect(first).toMatch(/^room +report +3 +1 +0 +0 +title 1$/m);

  for (let restored = 0; restored < 10; restored += 1) {
    await cycle(tenant);
    retitle(models[0]);
    await look();
  }
  models[1].replaceCalendar();
  const last = (await look()).replace(/\s+/g, ' ');
  expect(last).toContain('doctor: 1 entries were restored too often today');
  expect(last).toContain('they diverge in title.');
  expect(last).toContain('room: the calendar is another one than before');

  await tenant.records.write('doctor', { pausedUntil: NOW + 1 });
  expect(await look()).toMatch(/^doctor .*not looked at$/m);
});
