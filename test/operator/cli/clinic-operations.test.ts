import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { OPERATIONS, type ScopeName } from '../../../src/clinic/schema/operations.ts';
import { commandOf, operationOf } from '../../../src/operator/control/clinic-question.ts';
import { sandboxRoutes, shapeOfPath } from '../../../tools/write-clinic-api.ts';
import { firstTenant, frontDeskToken, type Json, logIn, NOW, readAll } from '../../sandbox/clinic/support.ts';
import { runClinic } from './run-clinic.ts';

/** What a person gives beside the resource and the verb. */
interface Sample {
  ids?: string[];
  data?: object;
  /** A file that goes up. */
  upload?: string;
}

const WINDOW = { fromAt: '2026-03-23T00:00:00+01:00', toAt: '2026-03-25T00:00:00+01:00' };
const TODAY = '2026-03-20';

let sandbox: ClinicSandbox;
let token: string;
let tenantId: string;
let folder: string;
let pdf: string;
beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 1, appointments: 120, now: NOW });
  token = await frontDeskToken(sandbox);
  tenantId = firstTenant(sandbox).id;
  folder = mkdtempSync(join(tmpdir(), 'clinic-operations-'));
  pdf = join(folder, 'report.pdf');
  writeFileSync(pdf, '%PDF-1.7\nnothing');
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await sandbox.close();
});
afterEach(() => {
  sandbox.faults.clear();
  sandbox.recording.record(false);
  sandbox.recording.clear();
});

async function rows(path: string): Promise<Json[]> {
  return readAll(sandbox, token, `/v2/tenants/${tenantId}${path}`);
}

async function idOf(path: string): Promise<string> {
  return String((await rows(path))[0]?.id);
}

/** An appointment of its own for each test. */
function booked(): { ids: string[] } {
  return { ids: [sandbox.book(tenantId).id] };
}

async function newInvoice(): Promise<object> {
  const open = (await rows('/accounting/sections')).find(({ isActive }) => isActive === true);
  const items = [{ description: 'Visita', quantity: '1', unitPrice: '80.50', vatRate: '0' }];
  return { sectionId: open?.id, patientId: await idOf('/patients'), issueDate: open?.lastDate ?? TODAY, items };
}

async function newEpisode(): Promise<object> {
  return { patientId: await idOf('/patients'), title: 'Ginocchio', openedAt: '2026-03-20T10:00:00+01:00' };
}

/** One for each operation of the table; that none lacks is a test. */
const SAMPLES: Readonly<Record<string, () => Promise<Sample> | Sample>> = {
  'userInfo.read': () => ({}),
  'tenantInfo.read': () => ({}),
  'patients.list': () => ({}),
  'patients.create': () => ({ data: { firstName: 'Ada', lastName: 'Comando', birthDate: '1990-02-28' } }),
  'patients.read': async () => ({ ids: [await idOf('/patients')] }),
  'patients.update': async () => ({ ids: [await idOf('/patients')], data: { notes: 'prefers mornings' } }),
  'agendas.list': () => ({}),
  'agendas.read': async () => ({ ids: [await idOf('/agendas')] }),
  'appointments.list': () => ({}),
  'appointments.read': booked,
  'appointments.create': async () => ({
    data: {
      ...{ agendaId: await idOf('/agendas'), patientId: await idOf('/patients') },
      ...{ start: '2026-05-17T04:00:00Z', end: '2026-05-17T04:30:00Z' },
    },
  }),
  'appointments.update': () => ({ ...booked(), data: { notes: 'brings the x-rays' } }),
  'appointments.setStatus': () => ({ ...booked(), data: { status: 'confirmed' } }),
  'appointments.setPayment': () => ({ ...booked(), data: { amount: '80.50', currency: 'EUR', method: 'Card' } }),
  'appointments.removePayment': booked,
  'appointments.remove': booked,
  'appointments.checkIn': booked,
  'availabilities.list': () => ({ data: WINDOW }),
  'availabilities.listOfTreatment': async () => ({
    ids: [await idOf('/treatments'), await idOf('/pricelists')],
    data: WINDOW,
  }),
  'treatments.list': () => ({}),
  'treatments.read': async () => ({ ids: [await idOf('/treatments')] }),
  'priceLists.list': () => ({}),
  'priceLists.read': async () => ({ ids: [await idOf('/pricelists')] }),
  'priceLists.readByCode': () => ({ ids: ['CONV/A 10%'] }),
  'episodes.list': () => ({}),
  'episodes.read': async () => ({ ids: [await idOf('/episodes')] }),
  'episodes.create': async () => ({ data: await newEpisode() }),
  'episodes.update': async () => ({ ids: [await openEpisode()], data: { title: 'Ginocchio destro' } }),
  'episodes.remove': async () => ({ ids: [await openEpisode()] }),
  'invoices.list': () => ({}),
  'invoices.read': async () => ({ ids: [await idOf('/invoices')] }),
  'invoices.pdf': async () => ({ ids: [await idOf('/invoices')] }),
  'invoices.create': async () => ({ data: await newInvoice() }),
  'invoices.addReimbursements': async () => {
    const made = await run('invoices', '--write', 'create', '--data', JSON.stringify(await newInvoice()), '--yes');
    return { ids: [String(made.id)], data: { amount: '10.00', date: TODAY } };
  },
  'medicalReports.create': async () => ({
    data: { patientId: await idOf('/patients'), title: 'Radiografia', reportDate: TODAY },
    upload: pdf,
  }),
  'medicalReports.list': () => ({}),
  'medicalReports.read': async () => ({ ids: [await idOf('/medicalreports')] }),
  'medicalReports.pdf': async () => ({ ids: [await idOf('/medicalreports')] }),
  'locations.list': () => ({}),
  'locations.read': async () => ({ ids: [await idOf('/locations')] }),
  'sections.list': () => ({}),
  'issuers.list': () => ({}),
  'issuers.read': async () => ({ ids: [await idOf('/accounting/issuers')] }),
};

async function openEpisode(): Promise<string> {
  const made = await run('episodes', '--write', 'create', '--data', JSON.stringify(await newEpisode()), '--yes');
  return String(made.id);
}

/** What a command that goes well prints as JSON. */
async function run(...args: string[]): Promise<Json> {
  const { out, thrown } = await runClinic(sandbox, token, ['aurora', ...args, '--json']);
  if (thrown !== null) throw thrown;
  return JSON.parse(out) as Json;
}

/** The command line of an operation, as the table tells it. */
function argumentsOf(name: string, { ids = [], data, upload }: Sample): string[] {
  const { resource, verb } = commandOf(operationNamed(name));
  const write = ['read', 'pdf'].includes(verb) ? [] : ['--write', verb, '--yes'];
  const file = upload ?? (verb === 'pdf' ? 'out.pdf' : null);
  return [
    ...['aurora', resource, ...ids, ...write],
    ...(data === undefined ? [] : ['--data', JSON.stringify(data)]),
    ...(file === null ? [] : ['--pdf', file]),
  ];
}

function operationNamed(name: string) {
  const found = OPERATIONS.find((operation) => operation.name === name);
  if (found === undefined) throw new Error(`there is no operation ${name}`);
  return found;
}

/** Its request: the path of the specification with the ids in it. */
function pathOf(name: string, { ids = [] }: Sample): string {
  const given = [...ids];
  return operationNamed(name).path.replaceAll(/\{(\w+)\}/g, (_, parameter) =>
    encodeURIComponent(parameter === 'tenantId' ? tenantId : (given.shift() ?? '')),
  );
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

describe('the table of operations', () => {
  test('has a command line here for each, and the sandbox serves them and nothing else', () => {
    expect(Object.keys(SAMPLES).sort()).toEqual(OPERATIONS.map(({ name }) => name).sort());
    const served = [...sandboxRoutes().keys()].filter((route) => route.includes(' /v2/')).sort();
    const wanted = new Set(OPERATIONS.map(({ method, path }) => `${method} ${shapeOfPath(path)}`));
    expect(served).toEqual([...wanted].sort());
  });

  test.each(OPERATIONS)('$name is reached by a command, which sends its request', async ({ name, method }) => {
    const sample = (await SAMPLES[name]?.()) ?? {};
    sandbox.recording.record(true);
    const { thrown } = await runClinic(sandbox, token, argumentsOf(name, sample));
    expect(thrown).toBe(null);
    const sent = sandbox.recording.recorded().map((one) => `${one.method} ${one.url.split('?')[0]}`);
    expect(sent).toContain(`${method} ${pathOf(name, sample)}`);
  });

  test.each(OPERATIONS)('$name that is forbidden names the operation that the clinic must allow', async (operation) => {
    const { name, method } = operation;
    const sample = (await SAMPLES[name]?.()) ?? {};
    const body = { error: 'insufficient_permissions', message: 'no' };
    const match = { method, path: `^${escaped(pathOf(name, sample))}(\\?|$)` };
    sandbox.faults.add({ fault: { kind: 'status', status: 403, body }, match });
    const { thrown } = await runClinic(sandbox, token, argumentsOf(name, sample));
    const asked = operationOf({ ...commandOf(operation), ids: sample.ids ?? [] });
    expect(thrown).toMatchObject({
      code: 'insufficient-permissions',
      remedy: `request the permission for ${asked.name} for the connected user from the clinic`,
    });
  });
});

describe('the scope of the table', () => {
  const names = [...new Set(OPERATIONS.map(({ scope }) => scope).filter((scope) => scope !== null))];
  const without = new Map<ScopeName, string>();
  beforeAll(async () => {
    for (const name of names) {
      const scope = sandbox.scopes.filter((each) => each !== `svc.${name}`).join(' ');
      without.set(name, (await logIn(sandbox, firstTenant(sandbox).user, { scope })).access_token);
    }
  });

  test.each(OPERATIONS)(
    'is required by $name, and named by the error without it',
    async ({ name, scope }) => {
      const sample = (await SAMPLES[name]?.()) ?? {};
      for (const [left, narrow] of without) {
        const { thrown } = await runClinic(sandbox, narrow, argumentsOf(name, sample));
        const code = (thrown as { code?: string } | null)?.code;
        if (left !== scope) expect([left, code === 'missing-claim']).toEqual([left, false]);
        else {
          const remedy = expect.stringContaining(
            `the connection lacks the scope svc.${scope}: add ${scope} to clinic.scopes`,
          );
          expect(thrown).toMatchObject({ code: 'missing-claim', remedy });
        }
      }
    },
    30_000,
  );
});
