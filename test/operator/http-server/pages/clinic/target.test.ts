import { describe, expect, test } from 'vitest';
import type {
  ConnectionStatus,
  TargetStatus,
  TenantStatus,
} from '../../../../../src/operator/control/status-schemas.ts';
import type { TargetNames } from '../../../../../src/operator/control/target-names.ts';
import { recordsPart, targetsPart } from '../../../../../src/operator/http-server/pages/clinic/target.ts';
import { appointmentOf, NOW } from '../../../../domain/arbitraries.ts';
import { useRedis } from '../../../../support/redis.ts';
import { cycle } from '../../../../tenant/cycle.ts';
import { openBooked } from '../../../control/open-installation.ts';
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

  test('begins with its facts: the id, the account, the health, the last check and change, and the counts', async () => {
    const { see } = await openActsPages(redis.connect());
    const page = await see(`/tenants/${TENANT}/targets/doctor`);
    expect(page).toContain('<h1>Agenda a1, Agenda a2 (Model)</h1>');
    const words = wordsOf(page);
    expect(words).toMatch(/Id doctor Calendar Model Connection model Sync in sync as of [\d:]+ Health ok/);
    expect(words).toMatch(/Last change .*·.* Events and contacts 30 Pending 0 On hold 0 Failed 0/);
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
  const NAMES = new Map([
    ['doctor', { name: 'Dr Rossi (CalDAV)', doctors: 'Dr Rossi', calendar: 'Appointments', vendor: 'CalDAV' }],
  ]);
  const ACCOUNTS = [{ connection: 'dav', account: 'rossi@clinic.example' }] as unknown as ConnectionStatus[];
  const shown = (changes: Partial<TargetStatus> = {}, names: ReadonlyMap<string, TargetNames> = NAMES) => {
    const targets = [targetOf({ connection: 'dav', checkedAt: NOW, lastWrittenAt: NOW, ...changes })];
    return String(targetsPart(pageContext(), { tenant: TENANT, targets, connections: ACCOUNTS }, names));
  };

  test('are one line each: doctor, calendar with account, state, last check, waiting changes and last change', () => {
    expect(wordsOf(shown({ pending: 2, held: 3 }))).toContain(
      'Dr Rossi Appointments rossi@clinic.example · CalDAV in sync as of 10:00 now · 10:00 5 now · 10:00',
    );
    expect(shown()).toContain('<span title="doctor">Dr Rossi</span>');
  });

  test('show the id and the kind of target if no name is known, and say that nothing was checked or written yet', () => {
    const words = wordsOf(shown({ checkedAt: null, lastWrittenAt: null, connection: 'none' }, new Map()));
    expect(words).toContain('doctor caldav in sync as of 10:00 not yet 2 none yet');
  });

  test('link to their pages by encoded ids', () => {
    expect(shown({ target: 'a/b' }).match(/href="[^"]+"/g)).toEqual([
      `href="/tenants/${TENANT}/history"`,
      `href="/tenants/${TENANT}/targets/a%2Fb"`,
    ]);
  });

  test('show the health and the failed changes if an administrator should see them', () => {
    const words = wordsOf(shown({ health: 'action-required', failing: 2 }));
    expect(words).toContain('action required');
    expect(words).toContain('2 failed');
    expect(wordsOf(shown())).not.toMatch(/\bok\b/);
  });

  test('say as of when all is in sync except what is not known', () => {
    const words = (exceptGapsAsOf: number | null) => wordsOf(shown({ exceptGapsAsOf }));
    expect(words(NOW)).toContain('except unreadable data: in sync as of 10:00');
    expect(words(null)).not.toContain('except');
  });

  test('are reported as none if there are none', () => {
    const none = targetsPart(pageContext(), { tenant: TENANT, targets: [], connections: [] }, NAMES);
    expect(wordsOf(none)).toContain('No target is configured');
  });
});
