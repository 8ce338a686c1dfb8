import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { ProxiedAnswer } from '../../sandbox/kit/fault-proxy.ts';
import { status } from '../../src/control/status.ts';
import type { PropertyValue } from '../../src/model/items.ts';
import type { SmallWorld } from '../e2e/support/small-world.ts';
import { expectExact, useSmallWorld } from '../e2e/support/use-small-world.ts';
import { held, openCrmWorld, patientOf } from '../jobs/crm-world.ts';
import { cycle } from '../jobs/cycle.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const LEAKING = fileURLToPath(new URL('leaking-mapper.ts', import.meta.url));
const LAST_NAME = 'Zwxyquist';

describe('a mapper that leaks', () => {
  test('names patients to no calendar: nothing of them is sent, and it is said what was kept back', async () => {
    const targets = ['google-calendar', 'outlook-calendar'] as const;
    const world = await useSmallWorld({ redisUrl: redis.url, targets });
    callAllPatients(world, LAST_NAME);

    world.env.NODE_OPTIONS = `--import=${LEAKING}`;
    const leaking = await world.cli('sync', 'clinic-1');
    delete world.env.NODE_OPTIONS;

    const requests = world.targets.flatMap(({ proxy }) => proxy.requests);
    const sent = requests.map(({ url, body }) => `${url}\n${body}`).join('\n');
    expect(sent.length).toBeGreaterThan(100);
    expect(sent).not.toContain(LAST_NAME);
    expect(leaking.code).not.toBe(0);
    expect(leaking.out).toContain('egress-last-name');
    expect(leaking.out + leaking.err).not.toContain(LAST_NAME);
    const told = (await status(world.opened().installation)).tenants[0]?.targets ?? [];
    expect(told).toMatchObject(
      targets.map(() => ({ state: 'incomplete', inSyncAsOf: null, gaps: [{ code: 'egress-stopped' }] })),
    );

    // By the mapper as it should be everything is written.
    expect(await world.cli('sync', 'clinic-1')).toMatchObject({ code: 0 });
    await expectExact(world);
  });

  test('tells a CRM nothing that its mapping does not name, and leaves what it holds of the patient', async () => {
    const { tenant, clinic, contacts } = openCrmWorld(redis, {
      contacts: { consents: [], mapping: { note: 'firstName' } },
    });
    clinic.patientList.push(patientOf('1'), patientOf('2', { firstName: 'Bruno', taxCode: 'VRDBRN80A01H501U' }));
    await cycle(tenant);
    expect(notes(contacts)).toEqual(['Anna', 'Bruno']);
    const mapping = tenant.targets.get('contacts')?.crm?.mapping;
    if (mapping === undefined) throw new Error('there is no mapping');
    const { mapNow } = mapping;
    const leaking: typeof mapNow = (source) => {
      const { properties } = mapNow(source);
      const taxCode = source.stream === 'patients' ? source.patient.taxCode : null;
      return { properties: { ...properties, note: `${properties.note} ${taxCode ?? 'Maria'}` } };
    };
    Object.assign(mapping, { mapNow: leaking });

    const run = await cycle(tenant);

    expect(notes(contacts)).toEqual(['Anna Maria', 'Bruno']);
    expect(run.targets.find(({ target }) => target === 'contacts')?.leftOut).toEqual({ 'egress-tax-code': 1 });
    expect(run.gaps.contacts).toEqual([{ code: 'egress-stopped', count: 1, what: ['egress-tax-code'], near: [] }]);
  });
});

function notes(contacts: Parameters<typeof held>[0]): PropertyValue[] {
  return held(contacts)
    .map(({ note = null }) => note)
    .sort();
}

/** Gives every appointment's patient one last name, in the clinic's answers. */
function callAllPatients({ clinicProxy }: SmallWorld, lastName: string): void {
  const call = (answer: ProxiedAnswer): ProxiedAnswer => {
    const body = JSON.parse(answer.body.toString()) as { data?: { patientId?: string | null; patient?: object }[] };
    for (const row of body.data ?? []) {
      if (typeof row.patientId === 'string')
        Object.assign(row, { patient: { id: row.patientId, ...row.patient, lastName } });
    }
    return { ...answer, body: JSON.stringify(body) };
  };
  clinicProxy.add({ url: /\/appointments\?/, times: 10_000, fault: { kind: 'rewrite', answer: call } });
}
