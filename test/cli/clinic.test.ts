import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { addClinic } from '../../src/cli/clinic-commands.ts';
import { committedProfile } from '../clinic/open-client.ts';
import { openClinicAccess } from '../control/open-clinic-access.ts';
import { NEVER } from '../jobs/cycle.ts';
import { call, firstTenant, frontDeskToken, logIn, NOW } from '../sandbox/clinic/support.ts';

let sandbox: ClinicSandbox;
let token: string;
beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 1, appointments: 120, now: NOW });
  token = await frontDeskToken(sandbox);
});
afterAll(() => sandbox.close());

/** Runs `clinic …` against the sandbox. */
async function run(args: string[], bearer = token, files: Record<string, string> = {}, input = '') {
  const ran = { out: '', err: '', written: {} as Record<string, string>, thrown: null as unknown };
  const clinic = new Command('clinic').exitOverride();
  addClinic(clinic, {
    withClinic: (_tenant, work) => work(openClinicAccess(sandbox, bearer, committedProfile('documented'))),
    read: async (file) => (file === undefined ? input : (files[file] ?? '')),
    async write(file, content) {
      ran.written[file] = typeof content === 'string' ? content : await text(content);
    },
    out: (line) => {
      ran.out += `${line}\n`;
    },
    err: (line) => {
      ran.err += `${line}\n`;
    },
    signal: NEVER,
  });
  await clinic.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    ran.thrown = error;
  });
  return ran;
}

/** The same with a text on standard input. */
const runWith = (input: string, args: string[]) => run(args, token, {}, input);

async function listed(resource: string, ...more: string[]): Promise<Record<string, unknown>[]> {
  const { out } = await run(['aurora', resource, '--json', ...more]);
  return JSON.parse(out);
}

describe('what the clinic has', () => {
  test.each([
    'patients',
    'agendas',
    'appointments',
    'treatments',
    'priceLists',
    'episodes',
    'invoices',
    'medicalReports',
    'locations',
    'sections',
    'issuers',
  ])('%s are shown as a table and as JSON, and says that they are sensitive', async (resource) => {
    const ran = await run(['aurora', resource]);
    expect(ran.thrown).toBe(null);
    expect(ran.err).toContain('of patients too');
    expect(Math.max(...ran.out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    const rows = await listed(resource, '--limit', '3');
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThanOrEqual(3);
    expect(ran.out).toContain(String(rows[0]?.id).slice(0, 5));
  });

  test('is read whole with limit 0, each row once, with instants that people can read', async () => {
    const rows = await listed('appointments', '--limit', '0');
    expect(new Set(rows.map(({ id }) => id)).size).toBe(120);
    expect(rows[0]?.start).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  test('is asked for with parameters of its own, and shown as it came', async () => {
    const [agenda] = firstTenant(sandbox).agendas;
    const rows = await listed('appointments', '--param', `agendaId=${agenda?.id}`, '--param', 'status=Booked', '--raw');
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.every((row) => row.agendaId === agenda?.id && row.status === 'Booked')).toBe(true);
  });

  test('is one record by its id, a price list by its code, facts without an id, slots by a question', async () => {
    const [patient] = await listed('patients', '--limit', '1');
    const one = JSON.parse((await run(['aurora', 'patients', String(patient?.id), '--json'])).out);
    expect(one).toEqual(patient);
    expect((await run(['aurora', 'tenantInfo'])).out).toMatch(/zone +Europe\/Rome/);
    expect((await run(['aurora', 'userInfo'])).thrown).toBe(null);
    const data = JSON.stringify({ fromAt: '2026-03-23T00:00:00+01:00', toAt: '2026-03-25T00:00:00+01:00' });
    const slots = await listed('availabilities', '--data', data);
    expect(slots.every(({ startAt }) => String(startAt) >= '2026-03-22T23')).toBe(true);
  });

  test('comes as a PDF into a file', async () => {
    const [invoice] = await listed('invoices', '--limit', '1');
    const ran = await run(['aurora', 'invoices', String(invoice?.id), '--pdf', 'invoice.pdf']);
    expect([ran.thrown, ran.written['invoice.pdf']?.slice(0, 5)]).toEqual([null, '%PDF-']);
  });

  test.each([
    [['aurora', 'patience'], 'no-such-operation'],
    [['aurora', 'agendas', '--write', 'delete'], 'no-such-operation'],
    [['aurora', 'patients', 'nobody'], 'no-such-record'],
    [['aurora', 'patients', '--write', 'create', '--data', '-'], 'bad-data', '[]'],
    [['aurora', 'patients', '--write', 'create', '--data', '-'], 'no-such-field', '{"fristName": "Ada"}'],
  ])('%j ends with %s', async (args, code, input = '') => {
    expect((await runWith(input, args)).thrown).toMatchObject({ code });
  });
});

describe('what may not be seen', () => {
  test('for want of a permission is the clinic’s to give', async () => {
    const { id, user } = firstTenant(sandbox);
    const { body } = await call(sandbox, token, 'GET', '/v2/userinfo');
    const [{ permissions }] = body.tenants as [{ permissions: Parameters<ClinicSandbox['setPermissions']>[2] }];
    sandbox.setPermissions(user.username, id, ['agenda.read']);
    const { thrown } = await run(['aurora', 'patients']);
    sandbox.setPermissions(user.username, id, permissions);
    expect(thrown).toMatchObject({
      code: 'insufficient-permissions',
      remedy: expect.stringContaining('have the clinic'),
    });
  });

  test('for want of a scope names the scope', async () => {
    const { access_token: narrow } = await logIn(sandbox, firstTenant(sandbox).user, { scope: 'openid svc.agenda' });
    const { thrown } = await run(['aurora', 'invoices'], narrow);
    expect(thrown).toMatchObject({ code: 'missing-claim', remedy: expect.stringContaining('svc.invoices') });
  });
});

describe('a change', () => {
  const patient = JSON.stringify({ firstName: 'Ada', lastName: 'Comando', phone: '+39 320 1234567' });

  test('is shown and not made without a yes', async () => {
    const ran = await runWith(patient, ['aurora', 'patients', '--write', 'create', '--data', '-']);
    expect(ran.thrown).toBe(null);
    expect(ran.out).toMatch(/POST \/v2\/tenants\/\w+\/patients/);
    expect(ran.out).toContain('"lastName": "Comando"');
    expect((await listed('patients', '--limit', '0')).filter(({ lastName }) => lastName === 'Comando')).toEqual([]);
  });

  test('is made with one, changed, with what was there kept', async () => {
    const made = await run(
      ['aurora', 'patients', '--write', 'create', '--data', '@ada.json', '--yes', '--json'],
      token,
      {
        'ada.json': patient,
      },
    );
    const { id } = JSON.parse(made.out);
    const change = ['aurora', 'patients', id, '--write', 'update', '--data', '-'];
    expect((await runWith('{"notes": "Nuova"}', change)).out).toContain('"lastName": "Comando"');
    expect(await runWith('{"notes": "Nuova"}', [...change, '--yes'])).toMatchObject({ thrown: null });
    const after = JSON.parse((await run(['aurora', 'patients', id, '--json'])).out);
    expect(after).toMatchObject({ lastName: 'Comando', notes: 'Nuova', phone: '+39 320 1234567' });
  });

  test('of an appointment goes through its own operations', async () => {
    const { id } = sandbox.book(firstTenant(sandbox).id);
    const set = ['aurora', 'appointments', id, '--yes', '--json', '--write'];
    const confirmed = await runWith('{"status": "confirmed"}', [...set, 'status', '--data', '-']);
    expect(JSON.parse(confirmed.out)).toMatchObject({ status: 'confirmed' });
    const payment = '{"amount": "80.50", "currency": "EUR", "method": "card"}';
    const paid = await runWith(payment, [...set, 'payment', '--data', '-']);
    expect(JSON.parse(paid.out)).toMatchObject({ isPaid: true, paymentAmount: '80.5' });
    expect(JSON.parse((await run([...set, 'remove-payment'])).out)).toMatchObject({ isPaid: false });
    expect(JSON.parse((await run([...set, 'checkin'])).out)).toMatchObject({ status: 'arrived' });
    expect(JSON.parse((await run([...set, 'delete'])).out)).toEqual({ removed: true });
  });
});
