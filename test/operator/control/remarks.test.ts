import { beforeAll, describe, expect, test } from 'vitest';
import type { ReadingRemark } from '../../../src/core/model/run-schemas.ts';
import { printTerminal } from '../../../src/operator/cli/print-terminal.ts';
import { renderHealth } from '../../../src/operator/cli/render-health.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { examine, type StateProbe } from '../../../src/operator/control/doctor.ts';
import { inEnglish } from '../../../src/operator/control/findings.ts';
import { tenantHealth } from '../../../src/operator/control/health.ts';
import { planTenant } from '../../../src/operator/control/plan.ts';
import { planDocument } from '../../../src/operator/documents/plan.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from './open-installation.ts';
import { statusOf, tenantOf } from './status-of.ts';

const redis = useRedis();

const REMARKS: ReadingRemark[] = [
  { code: 'zone-unread', list: 'appointments', field: 'zone', path: 'site.tz', rows: 2, zones: ['Asia/Tokyo'] },
  { code: 'path-empty', list: 'appointments', field: 'notes', path: 'memo', rows: 2 },
];
const SENTENCES = [
  'appointments: site.tz names the zone Asia/Tokyo in 2 records',
  'appointments.fields.notes: the path memo found nothing in 2 records',
];

/** A text without its line breaks. */
function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

describe('a deviation from the clinic profile', () => {
  function opened(remarks: () => ReadingRemark[] = () => REMARKS) {
    const clinic = Object.assign(createModelClinic(), { remarks });
    clinic.appointments.set('1', appointmentOf('1', { inHours: 24 }));
    const targets = [{ model: createModelTarget() }];
    const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => NOW });
    return { tenant, installation: openInstallation({ tenants: [tenant] }) };
  }
  let world: ReturnType<typeof opened>;
  beforeAll(() => {
    world = opened();
  });

  test('is reported by plan', async () => {
    const plan = await planTenant(world.installation, world.tenant.id, () => {}, NEVER);
    expect(plan.remarks).toEqual(REMARKS);
    for (const sentence of SENTENCES) expect(flat(printTerminal(planDocument(plan, 'en')))).toContain(sentence);
  });

  test('is reported by health', async () => {
    const health = await tenantHealth(world.installation, world.tenant.id, { progress: () => {} }, NEVER);
    expect(health.remarks).toEqual(REMARKS);
    for (const sentence of SENTENCES) expect(flat(renderHealth(health))).toContain(sentence);
  });

  test('is reported by status, for the last cycle', async () => {
    await cycle(world.tenant);
    const [lastRun = null] = await world.tenant.runs.list(1);
    expect(lastRun?.remarks).toEqual(REMARKS);
    const status = renderStatus(statusOf([{ ...tenantOf(), lastRun }]));
    for (const sentence of SENTENCES) expect(flat(status)).toContain(sentence);
  });

  test('is reported by doctor, also if only the last cycle saw it, and each once', async () => {
    const state: StateProbe = {
      ...{
        check: async () => {},
        requireRights: async () => {},
        requireWrites: async () => {},
        requireIdentity: async () => {},
      },
      ...{
        unopened: async () => [],
        openSecrets: () => [],
        lacksTrustedProxies: () => false,
        time: async () => NOW,
        hosts: () => [],
        resolve: null,
      },
      view: async () => ({
        durability: null,
        directory: 'kept',
        wentBackAt: null,
        wentBackTo: null,
        writesLostAt: null,
      }),
    };
    const { tenant, installation } = opened();
    await cycle(tenant);
    Object.assign(tenant.clinic, { remarks: () => REMARKS.slice(0, 1) });
    const findings = (await Array.fromAsync(examine(installation, state, {}, AbortSignal.timeout(20_000)))).map(
      inEnglish,
    );
    const told = findings.filter(({ code }) => code === 'zone-unread' || code === 'path-empty');
    expect(told).toEqual(
      ['zone-unread', 'path-empty'].map((code, at) => ({
        ...{ tenant: tenant.id, subject: 'clinic', result: 'warning', code, next: 'correct the clinic profile' },
        what: expect.stringContaining(SENTENCES[at] ?? ''),
      })),
    );
  });
});
