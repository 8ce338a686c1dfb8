import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { reportRetention, retentionDocument } from '../../../src/features/retention/retention.ts';
import { STORED_KINDS } from '../../../src/features/retention/texts.ts';
import { printTerminal } from '../../../src/operator/cli/print-terminal.ts';
import { createUpkeepStore } from '../../../src/tenant/upkeep.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { openActing } from '../../operator/control/acting.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { openTenant } from '../../tenant/open-tenant.ts';

const redis = useRedis();

async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const tenant = openTenant({ redis: connection, clinic: createModelClinic(), targets: [], clock: () => NOW });
  const upkeep = createUpkeepStore(connection);
  const installation = {
    ...openInstallation({ tenants: [tenant] }),
    removed: { parts: async () => new Map(), tenants: async () => new Map(), retentionMs: 45 * DAY_MS },
    upkeep: { ...upkeep, auditLogMs: () => 72 * DAY_MS },
  };
  const acting = openActing({ policy: { expireAfterHours: 36 } });
  return { id: tenant.id, upkeep, report: () => reportRetention(installation, acting, tenant.id) };
}

test('the kinds are those that docs/privacy.md says are stored in Redis or dataDirectory', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/privacy.md'), 'utf8');
  const flows = page.slice(page.indexOf('\n## Data flows'), page.indexOf('\n## Titles'));
  const stored = [...flows.matchAll(/^- \*\*([^*]+)\*\* \((?:Redis|`dataDirectory`)/gm)].map(([, kind]) => kind);
  expect(stored.length).toBeGreaterThan(10);
  const { kinds } = await (await open()).report();
  expect(kinds.map(({ kind }) => STORED_KINDS[kind].en).sort()).toEqual(stored.sort());
});

test('before the first check, the page says so, and periods follow the settings', async () => {
  const report = await (await open()).report();
  expect(report).toMatchObject({ lastCheckAt: null, nextCheckAt: null });
  const of = (kind: string) => report.kinds.find((each) => each.kind === kind);
  expect(of('removed')).toMatchObject({ periodMs: 45 * DAY_MS, ends: 'check', lastEndedAt: null });
  expect(of('audit-log')).toMatchObject({ periodMs: 72 * DAY_MS });
  expect(of('approvals')).toMatchObject({ periodMs: 36 * HOUR_MS });
  expect(of('journals')).toMatchObject({ periodMs: 30 * DAY_MS, ends: 'expiry' });
  expect(of('replies')).toMatchObject({ periodMs: null });
  expect(of('tombstones')).toMatchObject({ periodMs: null, ends: 'never' });
  expect(printTerminal(retentionDocument(report, 'en'))).toContain('No check has run yet');
});

test('shows the last check, and what it and earlier checks deleted, of this tenant and of the installation', async () => {
  const { id, upkeep, report } = await open();
  await upkeep.record(id, 'approvals', { at: NOW, ended: 2 });
  await upkeep.record('another', 'approvals', { at: NOW, ended: 99 });
  await upkeep.record(id, 'removed', { at: NOW, ended: 12 });
  await upkeep.record(null, 'removed', { at: NOW - DAY_MS, ended: 5 });
  await upkeep.record(null, 'audit-log', { at: NOW - DAY_MS, ended: 1_000 });
  await upkeep.record(id, 'replies', { at: NOW - DAY_MS, ended: 3 });
  await upkeep.record(null, 'check', { at: NOW, ended: 118 });
  const found = await report();
  expect(found).toMatchObject({ lastCheckAt: NOW, nextCheckAt: NOW + HOUR_MS });
  const ended = found.kinds.flatMap(({ kind, lastEndedAt, lastEnded }) =>
    lastEnded === null ? [] : [[kind, lastEndedAt, lastEnded]],
  );
  expect(ended).toEqual([
    ['removed', NOW, 12],
    ['audit-log', NOW - DAY_MS, 1_000],
    ['approvals', NOW, 2],
    ['replies', NOW - DAY_MS, 3],
  ]);
  const [english, italian] = (['en', 'it'] as const).map((language) =>
    printTerminal(retentionDocument(found, language)),
  );
  expect(english).toMatch(/removed tenants and targets +45 days +by the check +2026-06-15 08:00:00Z +12/);
  expect(english).toMatch(/limits of the reminder page +2 minutes +by Redis expiry/);
  expect(italian).toMatch(/richieste di approvazione +36 ore +con il controllo/);
});
