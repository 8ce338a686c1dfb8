import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { runCli } from '../../demo/daemon.ts';
import type { ProxiedAnswer } from '../../sandbox/kit/fault-proxy.ts';
import type { PropertyValue } from '../../src/core/model/items.ts';
import { status } from '../../src/operator/control/status.ts';
import type { SmallWorld } from '../e2e/support/small-world.ts';
import { expectExact, useSmallWorld } from '../e2e/support/small-world.ts';
import { useRedis } from '../support/redis.ts';
import { cycle } from '../tenant/cycle.ts';
import { held, openCrmWorld, patientOf } from '../tenant/world.ts';
import type { ToldByChannel } from './remind-by-channel.ts';

const redis = useRedis();
const LEAKING = fileURLToPath(new URL('leaking-mapper.ts', import.meta.url));
const LEAKING_TEXTS = fileURLToPath(new URL('leaking-texts.ts', import.meta.url));
const REMINDING = fileURLToPath(new URL('remind-by-channel.ts', import.meta.url));
/** Time limit of the process that sends the reminder: a process that hangs ends before the test does. */
const REMINDED_WITHIN_MS = 60_000;
const LAST_NAME = 'Zwxyquist';
const TAX_CODE = 'ZWXNNA80E52H501X';

describe('a mapper that leaks', () => {
  test('names patients to no calendar: no patient data is sent, and the withheld fields are reported', async () => {
    const targets = ['google-calendar', 'outlook-calendar'] as const;
    const world = await useSmallWorld({ redisUrl: redis.url, targets });
    callAllPatients(world, LAST_NAME);

    const env = { ...world.env, NODE_OPTIONS: `${process.env.NODE_OPTIONS} --import=${LEAKING}` };
    const leaking = await runCli({ configDir: world.configDir, env }, ['sync', 'clinic-1']);

    const requests = world.targets.flatMap(({ proxy }) => proxy.requests);
    const sent = requests.map(({ url, body }) => `${url}\n${body}`).join('\n');
    expect(sent.length).toBeGreaterThan(100);
    expect(sent).not.toContain(LAST_NAME);
    expect(leaking.code).not.toBe(0);
    expect(leaking.out).toContain('egress-last-name');
    expect(leaking.out + leaking.err).not.toContain(LAST_NAME);
    const told = (await status(world.opened().installation)).tenants[0]?.targets ?? [];
    expect(told).toMatchObject(
      targets.map(() => ({ reason: 'incomplete-data', inSyncAsOf: null, gaps: [{ code: 'egress-stopped' }] })),
    );

    // By the mapper as it should be everything is written.
    expect(await world.cli('sync', 'clinic-1')).toMatchObject({ code: 0 });
    await expectExact(world);
  });

  test('sends a CRM only the mapped fields of the same patient, and keeps the stored values', async () => {
    const { tenant, clinic, contacts } = openCrmWorld(redis, {
      contacts: { consents: [], mapping: { note: 'firstName' } },
    });
    clinic.patientList.push(patientOf('1'), patientOf('2', { firstName: 'Bruno', taxCode: 'VRDBRN80A01H501U' }));
    await cycle(tenant);
    expect(notes(contacts)).toEqual(['Anna', 'Bruno']);
    const mapping = tenant.targets.get('contacts')?.crm?.mapping;
    if (mapping === undefined) throw new Error('there is no mapping');
    const { map } = mapping;
    const leaking: typeof map = (source) => {
      const { properties } = map(source);
      const taxCode = source.stream === 'patients' ? source.patient.taxCode : null;
      return { properties: { ...properties, note: `${properties.note} ${taxCode ?? 'Maria'}` } };
    };
    Object.assign(mapping, { map: leaking });

    const run = await cycle(tenant);

    const codes = ['egress-other-person', 'egress-tax-code'];
    expect(notes(contacts)).toEqual(['Anna', 'Bruno']);
    expect(run.targets.find(({ target }) => target === 'contacts')?.omitted).toEqual(
      Object.fromEntries(codes.map((code) => [code, 1])),
    );
    expect(run.gaps.contacts).toMatchObject([{ code: 'egress-stopped', count: 2, soon: [] }]);
    expect(run.gaps.contacts?.flatMap((gap) => ('what' in gap ? gap.what : [])).toSorted()).toEqual(codes);
  });
});

describe('a text', () => {
  test('that leaks leaves by no channel, is counted, and the leaked field is reported', async () => {
    const reminders = await remind([`--import=${LEAKING_TEXTS}`]);
    const codes = { sms: 'egress-last-name', email: 'egress-tax-code', webhook: 'egress-last-name' };
    for (const [channel, code] of Object.entries(codes)) {
      const told = reminders[channel as keyof typeof codes];
      expect(told, channel).toMatchObject({ fate: 'dropped egress-stopped', lastCode: code, arrived: [] });
      expect(told.counted).toEqual([
        'clinic_mirror_reminders{tenant="studio-rossi",state="dropped",reason="egress-stopped"} 1',
      ]);
      const shown = told.shown.replaceAll(/\s+/g, ' ');
      expect(shown).toContain('the text contained more patient data than allowed (egress-stopped)');
      expect(shown).toContain(code);
      for (const fact of [LAST_NAME, TAX_CODE]) expect(JSON.stringify(told)).not.toContain(fact);
    }
  });

  test('that is correct arrives unchanged by each channel', async () => {
    const sent = { fate: 'sent', lastCode: null, arrived: [expect.stringContaining('16:00')] };
    expect(await remind()).toMatchObject({ sms: sent, email: sent, webhook: sent });
  });
});

/** Sends reminders to one patient in a separate process, which Node starts with `flags`. */
async function remind(flags: readonly string[] = []): Promise<ToldByChannel> {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, REMINDING], {
    env: { ...process.env, REDIS_URL: redis.url },
    timeout: REMINDED_WITHIN_MS,
  });
  return JSON.parse(stdout) as ToldByChannel;
}

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
