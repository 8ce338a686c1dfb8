import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../demo/daemon.ts';
import { status } from '../../src/operator/control/status.ts';
import { expectNone } from '../canaries/expect-none.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { tracesIn } from './support/crm-traces.ts';
import { compareCrm, SAME } from './support/crm-truth.ts';
import type { CrmVendor } from './support/crm-vendors.ts';
import { type CrmWorld, type CrmWorldOptions, startCrmWorld } from './support/crm-world.ts';
import { dumpRedis } from './support/dump-redis.ts';

const redis = useRedis();
const STREAMS = ['patients', 'appointments', 'invoices'] as const;

/** Data that no CRM may receive, each planted in a field of the clinic that contains such data. */
const PLANTED = {
  diagnosis: 'Sclerosi-multìpla-Zq1',
  practice: 'Infusione-Ocrelizumab-é-Zq2',
  appointmentNote: 'allergìa-alla-penicillina-Zq3',
  patientNote: 'tentato-suicìdio-2019-Zq4',
  statusReason: 'rinvio-per-chemioterapìa-Zq5',
  line: 'Ciclo-di-terapìa-monoclonale-Zq6',
  reimbursement: 'rimborso-per-invalidità-Zq7',
  taxCode: 'ZQXCNR80A01H501Z',
  birthPlace: 'Sant’Angelo-in-Zqonia',
} as const;
const TREATMENT = 'Psichiatrìa-prima-visita-Zq8';

async function useCrmWorld(options: Omit<CrmWorldOptions, 'redisUrl'>): Promise<CrmWorld> {
  const world = await startCrmWorld({ redisUrl: redis.url, ...options });
  onTestFinished(() => world.close());
  await world.logIn();
  return world;
}

/** Writes the planted data into every record with a field for it. @returns ids of the clinic, which no CRM may receive either */
function plantEverywhere({ clinic, tenants }: CrmWorld): string[] {
  const { clinicId = '' } = tenants[0] ?? {};
  const { diagnosis, practice, appointmentNote, patientNote, statusReason, line, reimbursement } = PLANTED;
  const { taxCode, birthPlace } = PLANTED;
  const [patients, appointments] = [[...clinic.patients(clinicId)], [...clinic.appointments(clinicId)]];
  const [episodes, invoices] = [[...clinic.episodes(clinicId)], [...clinic.invoices(clinicId)]];
  for (const { id } of patients) clinic.plant(clinicId, 'patients', id, { notes: patientNote, taxCode, birthPlace });
  for (const { id } of appointments)
    clinic.plant(clinicId, 'appointments', id, { notes: appointmentNote, statusReason });
  for (const episode of episodes) {
    const practices = episode.practices.map((each) => ({ ...each, description: practice }));
    clinic.plant(clinicId, 'episodes', episode.id, { title: diagnosis, practices });
    for (const { treatmentId } of practices) {
      clinic.plant(clinicId, 'treatments', treatmentId, { name: TREATMENT, description: TREATMENT });
    }
  }
  for (const invoice of invoices) {
    const Items = invoice.Items.map((item) => ({ ...item, description: line }));
    const customer = { ...invoice.customer, taxCode };
    const reimbursed = { id: 'r', amount: 1, date: '2026-01-01', payer: null, method: null, reference: null };
    const reimbursements = [{ ...reimbursed, notes: reimbursement }];
    clinic.plant(clinicId, 'invoices', invoice.id, { Items, customer, reimbursements });
  }
  return [patients, appointments, episodes, invoices].flatMap((records) => records.map(({ id }) => id));
}

/** Every byte of every request: method, URL, headers, body. */
function bytesTo(vendor: CrmVendor): string {
  return vendor
    .recorded()
    .map(({ method, url, headers, body }) => [method, url, JSON.stringify(headers), body].join('\n'))
    .join('\n');
}

async function syncWhole(world: CrmWorld): Promise<void> {
  const { run, targets } = await world.cycle();
  expect([run.error, ...targets.map(({ failure }) => failure)].filter((one) => one !== null)).toEqual([]);
  for (const vendor of world.vendors) {
    for (const stream of STREAMS) expect(vendor.records(stream).length, vendor.name).toBeGreaterThan(5);
  }
}

describe('the scan', () => {
  const trace = 'Sclerosi-multìpla Zq1';
  const around = (text: string) => `{"a":"x${text}y"}`;
  const base64 = (before: string) => Buffer.from(`${before}${trace} and more`).toString('base64');

  test.each([
    ['unchanged', around(trace)],
    ['in capitals', around(trace.toUpperCase())],
    ['in decomposed letters', around(trace.normalize('NFD'))],
    ['escaped in JSON', around('Sclerosi-mult\\u00ecpla Zq1')],
    ['percent-encoded', `?q=${encodeURIComponent(trace)}`],
    ['as a form', `q=${new URLSearchParams({ trace })}`],
    ['in entities', around('Sclerosi-mult&#236;pla Zq1')],
    ['in hexadecimal', Buffer.from(trace).toString('hex')],
    ['in base64', base64('')],
    ['in base64, one byte further', base64('x')],
    ['in base64, two bytes further', base64('xy')],
    ['in base64 for URLs', Buffer.from(`>>>${trace}???`).toString('base64url')],
  ])('finds planted data, %s', (_, text) => {
    expect(tracesIn(text, [trace, 'something else'])).toEqual([trace]);
  });
});

describe('requests to CRMs', () => {
  test('contain no diagnosis, note, treatment, invoice line, tax code or id of the clinic', async () => {
    const world = await useCrmWorld({ patients: 20, appointments: 60, streams: STREAMS });
    const ids = plantEverywhere(world);
    await syncWhole(world);
    expect(ids.length).toBeGreaterThan(90);
    for (const vendor of world.vendors) {
      const bytes = bytesTo(vendor);
      const [patient] = vendor.records('patients');
      expect(bytes, `${vendor.name}: the requests exist`).toContain(String(patient?.values.firstName));
      expect(tracesIn(bytes, [...Object.values(PLANTED), TREATMENT, ...ids]), vendor.name).toEqual([]);
    }
  });

  test('contain the treatment if the operator gives a reason, and no other sensitive data', async () => {
    const sensitive = { treatment: 'Data protection officer, 3 May, for follow-up by treatment' };
    const world = await useCrmWorld({
      patients: 20,
      appointments: 60,
      streams: STREAMS,
      sources: { appointments: { treatment: 'treatment' } },
      crm: { appointments: { sensitive } },
    });
    const ids = plantEverywhere(world);
    await syncWhole(world);
    for (const vendor of world.vendors) {
      const found = tracesIn(bytesTo(vendor), [...Object.values(PLANTED), TREATMENT, ...ids]);
      expect(found, vendor.name).toEqual([TREATMENT]);
      const told = vendor.records('appointments').filter(({ values }) => values.treatment === TREATMENT);
      expect(told.length, vendor.name).toBeGreaterThan(0);
      expect(tracesIn(JSON.stringify(vendor.records('patients')), [TREATMENT])).toEqual([]);
    }
  });

  test('contain the tax code if the operator gives a reason', async () => {
    const world = await useCrmWorld({
      patients: 12,
      sources: { patients: { taxCode: 'taxCode' } },
      crm: { patients: { sensitive: { taxCode: 'Data protection officer, 3 May, for invoices from the CRM' } } },
    });
    plantEverywhere(world);
    await world.cycle();
    for (const vendor of world.vendors) {
      expect(tracesIn(bytesTo(vendor), [...Object.values(PLANTED), TREATMENT])).toEqual([PLANTED.taxCode]);
    }
  });
});

/** One patient as everybody in this test is called. */
const PATIENT = {
  firstName: 'Canarinella',
  lastName: 'Zwxyquist',
  email: 'canarinella@zwxyquist.example',
  phone: '+39 345 9876501',
};
const TRACES = [...Object.values(PATIENT), '+393459876501', 'zwxyquist', ...Object.values(PLANTED)];

test('patients in CRMs are in no log line, metric, status, key or value of the state, nor in a URL', async () => {
  const world = await useCrmWorld({
    patients: 12,
    appointments: 30,
    streams: STREAMS,
    settings: { log: { level: 'debug' } },
  });
  const clinicId = world.tenants[0]?.clinicId ?? '';
  plantEverywhere(world);
  const patients = [...world.clinic.patients(clinicId)];
  for (const { id } of patients) world.clinic.plant(clinicId, 'patients', id, PATIENT);
  const daemon = startDaemon(world);
  onTestFinished(() => daemon.kill());
  const log = () => readFile(join(world.dir, 'daemon.log'), 'utf8');
  const isThere = (vendor: CrmVendor) =>
    STREAMS.every((stream) => {
      const { expected, ...same } = compareCrm(world, vendor, stream, Date.now());
      return expected > 0 && JSON.stringify(same) === JSON.stringify({ found: expected, ...SAME });
    });
  await waitFor(() => world.vendors.filter((vendor) => vendor.name !== 'hubspot').every(isThere), {
    what: 'the first sync',
    intervalMs: 200,
  });

  // Changes that every CRM refuses, with messages that repeat the sent data.
  for (const vendor of world.vendors) vendor.refuseWrites(400, { message: `bad ${PATIENT.email}`, patient: PATIENT });
  for (const { id } of patients.slice(0, 3)) world.clinic.book(clinicId, { patientId: id });
  const { queues, installation } = world.open();
  await waitFor(
    async () => {
      await queues.pullNow('clinic-1');
      const [tenant] = (await status(installation)).tenants;
      const ofPatients = tenant?.targets.filter(({ target }) => target.endsWith('contacts')) ?? [];
      return ofPatients.length === 3 && ofPatients.every(({ failing, failure }) => failing > 0 || failure !== null);
    },
    { what: 'a refusal by every CRM', intervalMs: 300 },
  );

  const places = new Map<string, string>();
  const runs = (await log()).split('\n').find((line) => line.includes('"operatorPort"')) ?? '{}';
  const { operatorPort } = JSON.parse(runs) as { operatorPort: number };
  places.set('metrics', await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text());
  for (const command of [['status'], ['health', 'clinic-1', '--json']]) {
    const { out, err } = await world.cli(...command);
    places.set(command.join(' '), out + err);
  }
  await daemon.stop();
  places.set('log', await log());
  places.set('state', [...(await dumpRedis(redis.connect()))].flat().join('\n'));
  const requests = world.vendors.flatMap((vendor) => vendor.recorded());
  places.set('addresses', requests.map(({ url }) => url).join('\n'));
  const secrets = Object.entries(world.env).flatMap(([name, value]) =>
    ['REDIS_URL', 'NODE_OPTIONS'].includes(name) ? [] : [value],
  );
  for (const { headers } of requests) {
    const token = /^\S+ (\S+)$/.exec(String(headers.authorization ?? ''))?.[1];
    if (token !== undefined) secrets.push(token);
  }
  expect(secrets.length).toBeGreaterThan(10);
  expect(places.get('state'), 'changes wait in the state').toContain('outbox');
  expectNone('CRMs', places, { patients: TRACES, secrets });
});
