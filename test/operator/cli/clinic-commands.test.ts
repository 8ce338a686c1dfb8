import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { renderError } from '../../../src/command-line.ts';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import { call, firstTenant, frontDeskToken, logIn, NOW } from '../../sandbox/clinic/support.ts';
import { runClinic } from './run-clinic.ts';

let sandbox: ClinicSandbox;
let token: string;
beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 1, appointments: 120, now: NOW });
  token = await frontDeskToken(sandbox);
});
afterAll(() => sandbox.close());

/** Runs `clinic …` against the sandbox. */
function run(args: string[], bearer = token, files: Record<string, string> = {}, input?: string) {
  return runClinic(sandbox, bearer, args, { files, ...(input === undefined ? {} : { input }) });
}

/** A question for slots, with something changed. */
function slotsOf(more: object): string {
  return JSON.stringify({ fromAt: '2026-03-23T00:00:00+01:00', toAt: '2026-03-25T00:00:00+01:00', ...more });
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
    expect(ran.err).toContain('patient data');
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

  test('is listed with the vendor’s own parameters, and shown as the vendor sent it', async () => {
    const [agenda] = firstTenant(sandbox).agendas;
    const parameters = { agendaId: agenda?.id, status: ['Booked'] };
    const { out } = await runWith(JSON.stringify(parameters), ['aurora', 'appointments', '--raw', '--params', '-']);
    const rows = JSON.parse(out) as Record<string, unknown>[];
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.every((row) => row.agendaId === agenda?.id && row.status === 'Booked')).toBe(true);
  });

  test('is one record by its id, facts without an id, slots by a question', async () => {
    const [patient] = await listed('patients', '--limit', '1');
    const one = JSON.parse((await run(['aurora', 'patients', String(patient?.id), '--json'])).out);
    expect(one).toEqual(patient);
    expect((await run(['aurora', 'tenantInfo'])).out).toMatch(/zone +Europe\/Rome/);
    expect((await run(['aurora', 'userInfo'])).thrown).toBe(null);
    const data = JSON.stringify({ fromAt: '2026-03-23T00:00:00+01:00', toAt: '2026-03-25T00:00:00+01:00' });
    const slots = await listed('availabilities', '--data', data);
    expect(slots.every(({ startAt }) => String(startAt) >= '2026-03-22T23')).toBe(true);
  });

  test('is a price list by its id and by its code', async () => {
    const lists = await listed('priceLists');
    const one = lists.find(({ code }) => code === 'BASE');
    for (const named of [String(one?.id), 'BASE']) {
      const { out, thrown } = await run(['aurora', 'priceLists', named, '--json']);
      expect(thrown).toBe(null);
      expect(JSON.parse(out)).toEqual(one);
    }
    expect((await run(['aurora', 'priceLists', 'NONE'])).thrown).toMatchObject({ code: 'no-such-record' });
  });

  test('are slots of several agendas in one question, and of a location', async () => {
    const window = { fromAt: '2026-03-23T00:00:00+01:00', toAt: '2026-03-25T00:00:00+01:00' };
    const slots = async (more: object) =>
      listed('availabilities', '--limit', '0', '--data', JSON.stringify({ ...window, ...more }));
    const every = await slots({});
    const [one, other] = [...new Set(every.map(({ agendaId }) => String(agendaId)))];
    expect(await slots({ agendaId: [one, other] })).toEqual(
      every.filter(({ agendaId }) => agendaId === one || agendaId === other),
    );
    expect(await slots({ agendaId: one })).toEqual(every.filter(({ agendaId }) => agendaId === one));
    const [{ locationId } = {}] = every;
    expect(await slots({ locationId })).toEqual(every.filter((slot) => slot.locationId === locationId));
  });

  test('are the doctors behind each line of an invoice, and the links that lead nowhere', async () => {
    const invoices = await listed('invoices', '--limit', '0');
    const rows = [];
    for (const { id } of invoices) {
      const ran = await run(['aurora', 'invoices', String(id), '--doctors', '--json']);
      expect(ran.thrown).toBe(null);
      rows.push(...(JSON.parse(ran.out) as Record<string, unknown>[]));
    }
    expect(rows.filter(({ doctor }) => /^\S+ \S+/.test(String(doctor ?? ''))).length).toBeGreaterThan(0);
    expect(new Set(rows.map(({ fault }) => fault))).toEqual(new Set([null, 'episode-gone', 'practice-unknown']));
    const shown = await run(['aurora', 'invoices', String(invoices[0]?.id), '--doctors']);
    expect(shown.out).toMatch(/^line +description/);
    expect((await run(['aurora', 'invoices', '--doctors'])).thrown).toMatchObject({ code: 'not-taken' });
  });

  test('are what a patient agrees to, as far as the clinic says yes or no', async () => {
    const [patient] = await listed('patients', '--limit', '1');
    expect(patient?.consents).toEqual({ privacy: expect.any(Boolean), marketing: expect.any(Boolean) });
    const raw = JSON.parse((await run(['aurora', 'patients', String(patient?.id), '--raw'])).out);
    expect(patient?.consents).toMatchObject({ privacy: raw.consents.privacy.granted });
  });

  test('comes as a PDF into a file', async () => {
    const [invoice] = await listed('invoices', '--limit', '1');
    const ran = await run(['aurora', 'invoices', String(invoice?.id), '--pdf', 'invoice.pdf']);
    expect([ran.thrown, ran.written['invoice.pdf']?.slice(0, 5)]).toEqual([null, '%PDF-']);
  });

  test.each([
    [['availabilities'], 'value-needed', 'fromAt and toAt'],
    [['availabilities', '--data', '{"fromAt": "2026-03-23T00:00:00+01:00"}'], 'value-needed', 'toAt'],
    [['availabilities', '--data', '{"fromAt": "monday", "toAt": "2026-03-25T00:00:00+01:00"}'], 'bad-value', 'fromAt'],
    [['availabilities', '--data', slotsOf({ agendaId: { id: 'a' } })], 'bad-value', 'agendaId'],
    [['availabilities', '--data', slotsOf({ agendaId: [] })], 'bad-value', 'agendaId'],
    [['availabilities', '--data', slotsOf({ doctorId: true })], 'bad-value', 'doctorId'],
    [['availabilities', '--data', slotsOf({ toAt: '2026-03-22T00:00:00+01:00' })], 'bad-value', 'toAt'],
    [['availabilities', '--data', slotsOf({ agenda: 'a' })], 'no-such-field', 'agenda'],
    [['availabilities', '--params', '@filter.json', '--data', slotsOf({})], 'not-taken', '--params with agendaId'],
    [['availabilities', 'trt1'], 'no-such-operation', 'number of ids'],
    [['patients', 'one', 'two'], 'no-such-operation', 'number of ids'],
    [['appointments', 'one', 'two', '--write', 'checkin'], 'no-such-operation', 'number of ids'],
    [['patients', 'one', '--params', '@filter.json'], 'not-taken', '--params with agendaId'],
    [['patients', '--data', '{"lastName": "Rossi"}'], 'no-such-field', 'lastName'],
    [['patients', '--write', 'create', '--data', '[{}, {}]'], 'not-taken', 'several objects'],
    [['appointments', 'one', '--write', 'status'], 'value-needed', 'status'],
    [['appointments', 'one', '--write', 'payment', '--data', '{"amount": "1"}'], 'value-needed', 'currency and method'],
    [['patients', '--raw', '--data', '{"lastName": "Rossi"}'], 'not-taken', '--data'],
  ])('%j is refused before any request, with the code %s and the cause %s', async (args, code, named) => {
    const asked = sandbox.counts.requests();
    const { thrown, out } = await run(['aurora', ...args], token, { 'filter.json': '{"agendaId": "a"}' });
    expect([out, thrown]).toEqual(['', expect.objectContaining({ code, message: expect.stringContaining(named) })]);
    expect(sandbox.counts.requests()).toBe(asked);
  });

  test.each(['--limit=many', '--limit=-1'])('%s is no use of the option', async (option) => {
    expect((await run(['aurora', 'patients', option])).thrown).toMatchObject({ code: 'commander.invalidArgument' });
  });

  test.each([
    [['aurora', 'patience'], 'no-such-operation'],
    [['aurora', 'agendas', '--write', 'delete'], 'no-such-operation'],
    [['aurora', 'patients', 'nobody'], 'no-such-record'],
    [['aurora', 'patients', '--write', 'create', '--data', '-'], 'bad-data', '[]'],
    [['aurora', 'patients', '--params', '-'], 'bad-data', ''],
    [['aurora', 'patients', '--params', '-'], 'bad-data', '{}'],
    [['aurora', 'patients', '--params', '-'], 'bad-data', '{"lastName": {"is": "Rossi"}}'],
    [['aurora', 'patients', '--write', 'create', '--data', '-'], 'no-such-field', '{"fristName": "Ada"}'],
  ])('%j ends with %s', async (args, code, input = '') => {
    expect((await runWith(input, args)).thrown).toMatchObject({ code });
  });
});

describe('a resource that the user cannot read', () => {
  test('for lack of a permission must be permitted by the clinic', async () => {
    const { id, user } = firstTenant(sandbox);
    const { body } = await call(sandbox, token, 'GET', '/v2/userinfo');
    const [{ permissions }] = body.tenants as [{ permissions: Parameters<ClinicSandbox['setPermissions']>[2] }];
    sandbox.setPermissions(user.username, id, ['agenda.read']);
    const { thrown } = await run(['aurora', 'patients']);
    sandbox.setPermissions(user.username, id, permissions);
    expect(thrown).toMatchObject({
      code: 'insufficient-permissions',
      remedy: expect.stringContaining('request the permission'),
    });
  });

  test('for lack of a scope names the scope', async () => {
    const { access_token: narrow } = await logIn(sandbox, firstTenant(sandbox).user, { scope: 'openid svc.agenda' });
    const { thrown } = await run(['aurora', 'invoices'], narrow);
    expect(thrown).toMatchObject({ code: 'missing-claim', remedy: expect.stringContaining('svc.invoices') });
  });
});

describe('a change', () => {
  const patient = JSON.stringify({ firstName: 'Ada', lastName: 'Comando', phone: '+39 320 1234567' });

  test('is shown and not sent without --yes', async () => {
    const ran = await runWith(patient, ['aurora', 'patients', '--write', 'create', '--data', '-']);
    expect(ran.thrown).toBe(null);
    expect(ran.out).toMatch(/POST \/v2\/tenants\/\w+\/patients/);
    expect(ran.out).toContain('"lastName": "Comando"');
    expect((await listed('patients', '--limit', '0')).filter(({ lastName }) => lastName === 'Comando')).toEqual([]);
  });

  test('is sent with --yes, and keeps the other fields of the record', async () => {
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

  test('that the clinic refuses shows the field, and the vendor’s message only with clinic data', async () => {
    const wrong = JSON.stringify({ firstName: 'Ada', lastName: 'Rossi', email: 'nowhere' });
    const { thrown } = await run(['aurora', 'patients', '--write', 'create', '--data', wrong, '--yes']);
    expect(thrown).toMatchObject({ code: 'call-refused', status: 400 });
    const failure = thrown as MirrorError;
    expect(failure.vendorMessages()).toEqual(['The request is malformed', expect.stringMatching(/^email: /)]);
    expect(renderError(failure, { asksForData: true })).toMatch(/\n {2}Vendor message: email: /);
    // Of any other command the words would end in the log of what started it.
    expect(renderError(failure, {})).toContain('the answer names the field email');
    expect(renderError(failure, {})).not.toContain('Vendor message');
    expect(renderError(failure, {})).not.toContain('nowhere');
    expect(`${JSON.stringify(failure)} ${failure.stack} ${Object.values(failure)}`).not.toContain('malformed');
  });

  test('adds several reimbursements in one call', async () => {
    const [section] = (await listed('sections')).filter(({ isActive }) => isActive);
    const [patient] = await listed('patients', '--limit', '1');
    const items = [{ description: 'Visita', quantity: '1', unitPrice: '80.50', vatRate: '0' }];
    const values = {
      sectionId: section?.id,
      patientId: patient?.id,
      issueDate: section?.lastDate ?? '2026-03-20',
      items,
    };
    const create = ['aurora', 'invoices', '--write', 'create', '--data', JSON.stringify(values), '--yes', '--json'];
    const { id } = JSON.parse((await run(create)).out);
    const back = [
      { amount: '10.00', date: '2026-03-20', payer: 'Mutua' },
      { amount: '5.50', date: '2026-03-21', payer: 'Fondo' },
    ];
    const add = ['aurora', 'invoices', id, '--write', 'reimbursement', '--data', JSON.stringify(back), '--json'];
    expect(JSON.parse((await run(add)).out)).toMatchObject({
      sent: false,
      body: [{ payer: 'Mutua' }, { payer: 'Fondo' }],
    });
    sandbox.recording.record(true);
    const added = JSON.parse((await run([...add, '--yes'])).out);
    sandbox.recording.record(false);
    expect(added).toMatchObject({ reimbursedAmount: '15.5', reimbursements: back.map(({ payer }) => ({ payer })) });
    expect(sandbox.recording.recorded().filter(({ method }) => method === 'POST')).toHaveLength(1);
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

  test('of a status accepts both names of a status in any spelling, and lists the known names', async () => {
    for (const [status, then] of [
      ['Confirmed', 'confirmed'],
      ['checked-in', 'arrived'],
      ['in_progress', 'in_progress'],
      ['Completed', 'completed'],
    ]) {
      const { id } = sandbox.book(firstTenant(sandbox).id);
      const steps = then === 'in_progress' || then === 'completed' ? ['arrived', status] : [status];
      for (const step of steps) {
        const set = ['aurora', 'appointments', id, '--yes', '--json', '--write', 'status', '--data'];
        const { out, thrown } = await run([...set, JSON.stringify({ status: step })]);
        expect(thrown).toBe(null);
        if (step === status) expect(JSON.parse(out)).toMatchObject({ id, status: then });
      }
    }
    const { id } = sandbox.book(firstTenant(sandbox).id);
    const wrong = await run([
      'aurora',
      'appointments',
      id,
      '--write',
      'status',
      '--data',
      '{"status": "Maybe"}',
      '--yes',
    ]);
    expect(wrong.thrown).toMatchObject({
      code: 'status-unmapped',
      remedy: expect.stringContaining('booked, confirmed, arrived, in_progress, completed, cancelled, no_show'),
    });
  });

  test('that the clinic does not allow names both statuses, and a repeated status change is no error', async () => {
    const { id } = sandbox.book(firstTenant(sandbox).id);
    const set = (status: string) =>
      run(['aurora', 'appointments', id, '--write', 'status', '--yes', '--json', '--data', JSON.stringify({ status })]);
    expect((await set('cancelled')).thrown).toBe(null);
    const { thrown } = await set('confirmed');
    expect(thrown).toMatchObject({
      actor: 'conflict',
      code: 'transition-refused',
      retry: 'never',
      message: 'the clinic does not allow the status of an appointment to change from cancelled to confirmed',
    });
    expect((thrown as MirrorError).vendorMessages()).toEqual([
      'An appointment that is Cancelled cannot become Confirmed',
    ]);
    expect(JSON.parse((await set('cancelled')).out)).toMatchObject({ id, status: 'cancelled' });
  });
});

describe('a report', () => {
  let folder: string;
  const file = (name: string, content: string) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const create = async (pdf: string, ...more: string[]) => {
    const [patient] = await listed('patients', '--limit', '1');
    const values = { patientId: patient?.id, title: 'Anteprima', reportDate: '2026-03-20' };
    const data = ['--data', JSON.stringify(values), '--pdf', pdf];
    return run(['aurora', 'medicalReports', '--write', 'create', ...data, ...more]);
  };
  const isThere = async () =>
    (await listed('medicalReports', '--limit', '0')).some(({ title }) => title === 'Anteprima');
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'clinic-reports-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('is shown with its fields and its file before it is sent', async () => {
    const pdf = file('referto.pdf', '%PDF-1.7\nnothing');
    const { out, thrown } = await create(pdf);
    expect(thrown).toBe(null);
    expect(out).toContain('"title": "Anteprima"');
    expect(out).toContain('Attached file: referto.pdf, 16 bytes');
    expect(JSON.parse((await create(pdf, '--json')).out)).toMatchObject({
      ...{ sent: false, method: 'POST', body: { title: 'Anteprima' } },
      file: { name: 'referto.pdf', sizeBytes: 16 },
    });
    expect(await isThere()).toBe(false);
  });

  test.each(['<html>', '%PD', ''])(
    'that is no PDF (%j) is refused, shown or sent, and nothing goes',
    async (content) => {
      const page = file('page.pdf', content);
      for (const more of [[], ['--yes']])
        expect((await create(page, ...more)).thrown).toMatchObject({ code: 'not-a-pdf' });
      expect(await isThere()).toBe(false);
    },
  );

  test('whose file is unreadable, and an unused file, are errors with a code', async () => {
    for (const path of [join(folder, 'nothing.pdf'), folder]) {
      expect((await create(path)).thrown).toMatchObject({ code: 'file-unusable' });
    }
    const pdf = file('other.pdf', '%PDF-1.7');
    const { thrown } = await run([
      'aurora',
      'patients',
      '--write',
      'create',
      '--data',
      '{"lastName": "A"}',
      '--pdf',
      pdf,
    ]);
    expect(thrown).toMatchObject({ code: 'not-taken', message: expect.stringContaining('--pdf') });
    const without = await run(['aurora', 'medicalReports', '--write', 'create', '--data', '{"title": "A"}']);
    expect(without.thrown).toMatchObject({ code: 'file-needed' });
  });
});
