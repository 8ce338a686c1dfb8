import { expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { recordFailure } from '../../../src/engine/lane.ts';
import { printTerminal } from '../../../src/operator/cli/print-terminal.ts';
import { renderAudit } from '../../../src/operator/cli/render-audit.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { auditNow, isLookedAt } from '../../../src/operator/control/audit.ts';
import { explain } from '../../../src/operator/control/explain.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';
import { status } from '../../../src/operator/control/status.ts';
import { explanationDocument } from '../../../src/operator/documents/explain.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER, targetOf } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget, type ModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();
const SILENT = () => {};

/** Three appointments in two calendars, one that is repaired and one that is only reported on. */
async function open(paused = false) {
  const clinic = createModelClinic();
  for (const id of ['0', '1', '2']) clinic.appointments.set(id, appointmentOf(id, { inHours: 24 + Number(id) }));
  const models = [createModelTarget(), createModelTarget()] as const;
  const clock = { now: NOW };
  const choice = {
    redis: redis.connect(),
    clinic,
    targets: [
      { id: 'doctor', model: models[0] },
      {
        id: 'room',
        model: models[1],
        configuration: { audit: { drift: 'report', rewritesPerDay: 1, changesEverySeconds: 300 } as const },
      },
    ],
    clock: () => clock.now,
  };
  await cycle(openTenant(choice));
  const tenant = openTenant({ ...choice, paused });
  return { models, tenant, clock, installation: openInstallation({ tenants: [tenant] }) };
}

function retitle(model: ModelTarget): void {
  const [object] = model.objects();
  object!.item = { ...object!.item, title: 'Lunch' };
  object!.version += 1;
}

test('an audit on demand reports each target by its policy, and requests the cycle that restores', async () => {
  const { models, installation } = await open();
  for (const model of models) retitle(model);
  models[1].objects()[1]!.deleted = true;
  const steps: unknown[] = [];

  const view = await auditNow(installation, 'studio-rossi', (...step) => steps.push(step), NEVER);

  expect(view).toMatchObject({
    tenant: 'studio-rossi',
    targets: [
      { target: 'doctor', policy: 'repair', drift: { checked: 3, edited: 1, removed: 0, fields: { title: 1 } } },
      { target: 'room', policy: 'report', drift: { checked: 3, edited: 1, removed: 1, fields: { title: 1 } } },
    ],
  });
  expect(steps).toEqual([
    ['reading targets back', 0, 2],
    ['reading targets back', 1, 2],
  ]);
  expect(installation.pulled).toEqual(['studio-rossi']);
  const { tenants } = await status(installation);
  expect(tenants[0]?.targets.map(({ drift }) => drift)).toEqual(view.targets.map(({ drift }) => drift));
});

test('a paused tenant is not audited', async () => {
  const { installation, models } = await open(true);
  const refused = auditNow(installation, 'studio-rossi', SILENT, NEVER);
  await expect(refused).rejects.toMatchObject({ actor: 'settings', code: 'tenant-paused' });
  expect(models[0].calls.read).toBe(1);
  expect(installation.pulled).toEqual([]);
});

test('status shows current drift, and calls a target drifted until the reported drift is corrected', async () => {
  const { models, tenant, installation } = await open();
  const reasons = async () => (await status(installation)).tenants[0]?.targets.map(({ reason }) => reason);
  const [object, other] = models[1].objects();
  const title = object!.item.title;
  for (const model of models) retitle(model);
  other!.deleted = true;
  await auditNow(installation, 'studio-rossi', SILENT, NEVER);
  await cycle(tenant);

  const [doctor, room] = (await status(installation)).tenants[0]?.targets ?? [];
  expect(doctor).toMatchObject({ sync: 'in-sync', links: 3, drift: { edited: 0, removed: 0, fields: {} } });
  expect(room).toMatchObject({
    reason: 'manual-changes',
    links: 2,
    drift: { edited: 1, removed: 1, fields: { title: 1 } },
  });
  const shown = renderStatus(await status(installation)).replace(/\s+/g, ' ');
  expect(shown).toContain('room: manual changes: 1 edited, 1 removed, reported for an administrator');
  const metrics = await createMetrics(() => installation).render();
  expect(metrics).toContain('clinic_mirror_target_review_required{tenant="studio-rossi",target="room"} 1');
  expect(metrics).toContain('clinic_mirror_target_review_required{tenant="studio-rossi",target="doctor"} 0');
  expect(metrics).toContain('clinic_mirror_target_manual_deletions{tenant="studio-rossi",target="room"} 1');

  tenant.targets.get('room')!.configuration.audit = { drift: 'keep', rewritesPerDay: 1, changesEverySeconds: 300 };
  expect(await reasons()).toEqual([null, null]);
  expect(renderStatus(await status(installation)).replace(/\s+/g, ' ')).toContain(
    '1 removed, kept until the appointments',
  );

  tenant.targets.get('room')!.configuration.audit = { drift: 'report', rewritesPerDay: 1, changesEverySeconds: 300 };
  object!.item = { ...object!.item, title };
  object!.version += 1;
  other!.deleted = false;
  other!.version += 1;
  await auditNow(installation, 'studio-rossi', SILENT, NEVER);
  expect(await reasons()).toEqual([null, null]);
});

test('a target’s in-sync time stays while a manual change violates its policy', async () => {
  const { models, tenant, clock, installation } = await open();
  const asOf = async () => (await status(installation)).tenants[0]?.targets.map(({ inSyncAsOf }) => inSyncAsOf);
  const reasons = async () => (await status(installation)).tenants[0]?.targets.map(({ reason }) => reason);
  for (const model of models) retitle(model);
  await auditNow(installation, 'studio-rossi', SILENT, NEVER);
  expect(await reasons()).toEqual(['next-cycle', 'manual-changes']);
  clock.now += MINUTE_MS;
  await cycle(tenant);
  expect(await asOf()).toEqual([clock.now, NOW]);
  expect(await reasons()).toEqual([null, 'manual-changes']);

  tenant.targets.get('room')!.configuration.audit = { drift: 'keep', rewritesPerDay: 1, changesEverySeconds: 300 };
  expect(await asOf()).toEqual([clock.now, clock.now]);
});

test('a target with an object that is not restored today is drifted until the object is restored', async () => {
  const { models, tenant, clock, installation } = await open();
  tenant.targets.get('doctor')!.configuration.audit = { drift: 'repair', rewritesPerDay: 1, changesEverySeconds: 300 };
  for (let fights = 0; fights < 2; fights += 1) {
    retitle(models[0]);
    await auditNow(installation, 'studio-rossi', SILENT, NEVER);
    clock.now += MINUTE_MS;
    await cycle(tenant);
  }
  const doctor = async () => (await status(installation)).tenants[0]?.targets[0];
  expect(await doctor()).toMatchObject({
    reason: 'manual-changes',
    inSyncAsOf: NOW + MINUTE_MS,
    drift: { churning: 1 },
  });
  clock.now += DAY_MS;
  await cycle(tenant);
  expect(await doctor()).toMatchObject({ sync: 'in-sync', inSyncAsOf: clock.now, drift: { edited: 0 } });
});

test('an explanation shows manual changes and their consequences', async () => {
  const { models, tenant, installation } = await open();
  retitle(models[1]);
  models[1].objects()[1]!.deleted = true;
  await auditNow(installation, 'studio-rossi', SILENT, NEVER);
  const marked = await tenant.links.drifted('room');
  const told = await Promise.all(
    marked.map(async ({ recordId, drift }) => {
      const explanation = await explain(installation, 'studio-rossi', recordId, NEVER);
      expect(explanation.targets.find(({ target }) => target === 'doctor')?.byHand).toBeNull();
      expect(explanation.targets.find(({ target }) => target === 'room')?.byHand).toMatchObject({ done: drift });
      return printTerminal(explanationDocument(explanation, 'en')).replace(/\s+/g, ' ');
    }),
  );
  expect(told.join(' ')).toContain('edited manually (title): unchanged until the appointment changes');
  expect(told.join(' ')).toContain('deleted manually: unchanged until the appointment changes');
});

test('an unknown tenant is reported with the existing ones', async () => {
  const { installation } = await open();
  const refused = auditNow(installation, 'nobody', SILENT, NEVER);
  await expect(refused).rejects.toMatchObject({ code: 'no-such-tenant', remedy: 'use one of: studio-rossi' });
});

test('the output shows counts, different fields, frequent changes, and a replaced calendar', async () => {
  const { models, installation, tenant } = await open();
  for (const model of models) retitle(model);
  const look = async () => renderAudit(await auditNow(installation, 'studio-rossi', SILENT, NEVER));

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
  expect(last).toContain('doctor: 1 objects were restored too often today');
  expect(last).toContain('Fields that differ: title.');
  expect(last).toContain('room: the calendar was replaced');
});

test('a paused target is audited; an unreachable one is reported with the reason, and the audit fails', async () => {
  const { models, installation, tenant } = await open();
  const failing = { actor: 'remote', code: 'server-unavailable', retry: 'later' } as const;
  await recordFailure(tenant, targetOf(tenant), new MirrorError('the server is not available', failing));
  const seen = await auditNow(installation, 'studio-rossi', SILENT, NEVER);
  expect([isLookedAt(seen), seen.targets[0]]).toMatchObject([true, { drift: { checked: 3 }, failure: null }]);

  models[0].wholeTargetError = new MirrorError('the server is not available', failing);
  const unseen = await auditNow(installation, 'studio-rossi', SILENT, NEVER);
  expect(isLookedAt(unseen)).toBe(false);
  expect(unseen.targets.map(({ drift }) => drift === null)).toEqual([true, false]);
  const text = renderAudit(unseen);
  expect(text).toMatch(/^doctor .*server-unavailable: not read$/m);
  expect(text).toContain('doctor: the server is not available');

  models[0].wholeTargetError = null;
  await recordFailure(tenant, targetOf(tenant), new MirrorError('x', { ...failing, retryAfterMs: 60_000 }));
  const { changes } = models[0].calls;
  expect(isLookedAt(await auditNow(installation, 'studio-rossi', SILENT, NEVER))).toBe(false);
  expect(models[0].calls.changes).toBe(changes);
});
