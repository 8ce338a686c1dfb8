import { describe, expect, test } from 'vitest';
import type { TargetStatus, TenantStatus } from '../../../../src/control/status-schemas.ts';
import { recordsPart, targetsPart } from '../../../../src/http-server/pages/clinic/target.ts';
import { openBooked } from '../../../control/open-installation.ts';
import { appointmentOf, NOW } from '../../../domain/arbitraries.ts';
import { useRedis } from '../../../support/redis.ts';
import { cycle } from '../../../tenant/cycle.ts';
import { openActsPages, openPages } from '../open-pages.ts';
import { pageContext, wordsOf } from '../page-context.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';

const targetOf = (changes: Partial<TargetStatus> = {}) =>
  ({
    ...{ target: 'doctor', connector: 'caldav', sync: 'in-sync', health: 'ok', inSyncAsOf: NOW, firstSync: null },
    ...{ exceptGapsAsOf: null, links: 7, pending: 2, failing: 0, held: 0, ...changes },
  }) as TargetStatus;

const STORAGE = { bytes: 12 * 2 ** 20, addedBytes: 0, countedAt: NOW, limitBytes: 2 ** 30 };

const recordsOf = (targets: TargetStatus[], lastRun: object | null = null) =>
  recordsPart(pageContext(), { tenant: TENANT, targets, lastRun, storage: STORAGE } as unknown as TenantStatus);

describe('the page of a target', () => {
  test('shows its records in the requested state, each with its link, and marks that state', async () => {
    const { see, heldRun } = await openActsPages(redis.connect());
    const inSync = await see(`/tenants/${TENANT}/targets/doctor`);
    expect(inSync.match(/\?state=([\w-]+)" aria-current="page"/)?.[1]).toBe('in-sync');
    expect(inSync.match(/id="row-record-/g)).toHaveLength(30);
    expect(inSync).toContain('/targets/doctor/week');
    await heldRun();
    const held = await see(`/tenants/${TENANT}/targets/doctor?state=on-hold`);
    expect(held).toContain('<code>vanished</code>');
    expect(held).toContain(`href="/tenants/${TENANT}/explain?id=`);
    expect(await see(`/tenants/${TENANT}/targets/doctor?state=changed-by-hand`)).toContain('No records.');
  });

  test('and of its week name the policy that keeps an event', async () => {
    const { clinic, tenant, installation } = openBooked(redis, 3, {}, { policy: 'upsert-only' });
    await cycle(tenant);
    clinic.appointments.set('0', appointmentOf('0', { status: 'cancelled' }));
    await cycle(tenant);
    const { see } = await openPages({ installation });
    const address = `/tenants/${TENANT}/targets/doctor`;
    expect(await see(address)).toContain('policy upsert-only: 1 objects remain');
    expect(await see(`${address}/week?from=${new Date(NOW + 24 * 3_600_000).toISOString().slice(0, 10)}`)).toContain(
      'unchanged: policy of the target',
    );
  });

  test('and of its week show an overdue retry as due, and a later retry with its time', async () => {
    const { clinic, clock, model, tenant, installation } = openBooked(redis, 3);
    const { see } = await openPages({ installation });
    // Another question: the answer to the same one is cached for seconds.
    const shown = async (week = '/week') =>
      Promise.all(
        ['?state=failed', week].map(async (path) => wordsOf(await see(`/tenants/${TENANT}/targets/doctor${path}`))),
      );
    await cycle(tenant);
    clinic.appointments.set('1', appointmentOf('1', { inHours: 99 }));
    model.fault = ({ recordId }) => (recordId === '1' ? 'refused' : null);
    await cycle(tenant);
    const later = await shown();
    expect(later.join(' ')).not.toContain('due now');
    expect(later[1]).toMatch(/failed \(refused\), next try /);
    clock.now = (await tenant.outbox.pendingOf('doctor', '1'))?.dueAt ?? 0;
    const due = await shown('/week?from=2026-06-15');
    expect(due[0]).toMatch(/1 .* refused .* due now/);
    expect(due[1]).toContain('failed (refused), due now');
    expect(due.join(' ')).not.toMatch(/next try (?:at )?\d/);
  });

  test('says that the server drops marks, if the first event showed it', async () => {
    const { see, installation } = await openActsPages(redis.connect());
    const own = `/tenants/${TENANT}/targets/doctor`;
    expect(await see(own)).not.toContain('drops the marks');
    const { targetStore } = installation.tenants.get(TENANT)!;
    await targetStore.write('doctor', { readBack: { recordId: '1', marks: 'dropped' } });
    expect(await see(own)).toContain('the server drops the marks of clinic-mirror');
  });

  test('of a CRM has no week, and an unknown state shows the most urgent records', async () => {
    const { see } = await openActsPages(redis.connect());
    const page = await see(`/tenants/${TENANT}/targets/contacts?state=well`);
    expect(page).not.toContain('/week');
    expect(page).toContain('?state=in-sync" aria-current="page"');
  });

  test('that is not there is refused as no-such-target, with those that are', async () => {
    const { app } = await openActsPages(redis.connect());
    const { statusCode, body } = await app.inject({ url: `/tenants/${TENANT}/targets/nobody` });
    expect(statusCode).toBe(404);
    expect(body).toContain('no-such-target');
  });
});

describe('the records of a clinic', () => {
  test('in sync are those that do not wait, never fewer than none, and in a first sync those that were written', () => {
    const shown = (changes: Partial<TargetStatus>) =>
      /role="cell"[^>]*class="figure">(\d+)</.exec(String(recordsOf([targetOf(changes)])))?.[1];
    expect(shown({})).toBe('5');
    expect(shown({ links: 1, pending: 4 })).toBe('0');
    expect(shown({ firstSync: { written: 3, of: 9 } })).toBe('3');
  });

  test('that are left out or unusable are counted by code, and named by id and field', () => {
    const lastRun = {
      targets: [{ target: 'doctor', omitted: { status: 2, agenda: 0 } }],
      unusable: { 'bad-time': 1 },
      unusableExamples: [{ recordId: '<7>', code: 'bad-time', field: 'start' }],
    };
    const page = String(recordsOf([targetOf()], lastRun));
    expect(page).toContain('2 <code>status</code>');
    expect(page).not.toContain('agenda');
    expect(page).toContain('<code>&lt;7&gt;</code>');
    expect(wordsOf(page)).toContain('bad-time start');
    expect(page).toContain('memory in Redis: 12 MiB of at most 1024 MiB');
  });

  test('are not shown of a clinic without targets', () => {
    expect(recordsOf([])).toBeNull();
  });
});

describe('the targets of a clinic', () => {
  test('link to their records, and calendars to their week too, by encoded ids', () => {
    const page = (isCalendar: boolean) =>
      String(targetsPart(pageContext(), TENANT, [targetOf({ target: 'a/b' })], () => isCalendar));
    expect(page(true).match(/href="[^"]+"/g)).toEqual([
      `href="/tenants/${TENANT}/targets/a%2Fb"`,
      `href="/tenants/${TENANT}/targets/a%2Fb/week"`,
    ]);
    expect(page(false)).not.toContain('/week');
  });

  test('say as of when all is in sync except what is not known', () => {
    const words = (exceptGapsAsOf: number | null) =>
      wordsOf(targetsPart(pageContext(), TENANT, [targetOf({ exceptGapsAsOf })], () => true));
    expect(words(NOW)).toContain('except unreadable data: in sync as of 10:00');
    expect(words(null)).not.toContain('all but');
  });

  test('are reported as none if there are none', () => {
    expect(wordsOf(targetsPart(pageContext(), TENANT, [], () => true))).toContain('No target is configured');
  });
});
