import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ClinicRecord } from '../../../src/clinic/read/reading-calls.ts';
import { NOW } from '../../sandbox/clinic/support.ts';
import { all } from '../open-api.ts';
import { failureOf } from '../open-client.ts';
import { bytesOf, cents, randomPdf, signal, type World } from './world.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TODAY = '2026-03-20';

/** A free slot of the clinic, another for each caller. */
export async function freeSlot({ api, tenantId }: World, index: number) {
  const window = { fromAt: NOW + DAY_MS, toAt: NOW + 20 * DAY_MS };
  const slots = await all(api.availabilities.list(tenantId, { window }, signal));
  const slot = slots[index * 3];
  if (slot === undefined) throw new Error('the clinic is full');
  return { agendaId: slot.agendaId, start: slot.startAt, end: slot.endAt ?? slot.startAt + HOUR_MS / 2 };
}

export async function somePatient({ api, tenantId }: World): Promise<ClinicRecord<'patients'>> {
  const [patient] = await all(api.patients.list(tenantId, [], signal));
  if (patient === undefined) throw new Error('the clinic has no patients');
  return patient;
}

/** An invoice of one line of 80 euros, in the first open section. */
export async function newInvoice(world: World): Promise<Partial<ClinicRecord<'invoices'>>> {
  const { api, tenantId } = world;
  const [section] = await all(api.sections.list(tenantId, [], signal));
  const item = { description: 'Visita di controllo', quantity: '1', unitPrice: '80.50', vatRate: '0' };
  return {
    sectionId: section?.id ?? '',
    patientId: (await somePatient(world)).id,
    issueDate: TODAY,
    items: [{ ...item, vatExemptionCode: 'Art10_n18' } as ClinicRecord<'invoices'>['items'][number]],
  };
}

/** Writes that every dialect must support. */
export function describeWriting(world: World): void {
  describe('writes', () => {
    test('a patient: created and updated; an update keeps omitted and unknown fields', async () => {
      const { api, tenantId } = world;
      const values = { firstName: 'Ada', lastName: 'Bianchi', gender: 'F', birthDate: '1951-02-28', city: 'Torino' };
      const address = { street: 'Via Roma 1', province: 'TO', postalCode: '10100', country: 'IT' };
      const made = await api.patients.create(tenantId, { ...values, ...address }, signal);
      expect(made).toMatchObject({ ...values, ...address });
      const other = await somePatient(world);
      const before = await world.rawPatient(other.id);
      const changed = await api.patients.update(tenantId, other.id, { notes: 'prefers mornings', phone: null }, signal);
      expect(changed).toMatchObject({ ...other, notes: 'prefers mornings', phone: null, updatedAt: changed.updatedAt });
      expect(before.consents).toBeDefined();
      expect((await world.rawPatient(other.id)).consents).toEqual(before.consents);
    });

    test('an appointment through its life: booked, confirmed, moved, paid, checked in, cancelled', async () => {
      const { api, tenantId, sandbox } = world;
      sandbox.rules.deleteMode = 'soft';
      const slot = await freeSlot(world, 1);
      const patientId = (await somePatient(world)).id;
      const booked = await api.appointments.create(tenantId, { ...slot, patientId }, signal);
      expect(booked).toMatchObject({ ...slot, patientId, isPaid: false });
      const { id } = booked;
      const confirmed = await api.appointments.setStatus(tenantId, id, { status: 'confirmed' }, signal);
      expect(confirmed).toMatchObject({ id, status: 'confirmed' });
      const later = await freeSlot(world, 8);
      expect(await api.appointments.update(tenantId, id, later, signal)).toMatchObject({
        ...later,
        status: 'confirmed',
      });
      const payment = { amount: '80.50', currency: 'EUR', method: 'Card', paidAt: NOW, reference: 'r1' };
      const paid = await api.appointments.setPayment(tenantId, id, payment, signal);
      expect(paid).toMatchObject({ isPaid: true, paidAt: NOW, paymentMethod: 'Card', paymentReference: 'r1' });
      expect(cents(paid.paymentAmount)).toBe(8050);
      expect(await api.appointments.removePayment(tenantId, id, signal)).toMatchObject({ isPaid: false });
      const arrived = await api.appointments.checkIn(tenantId, id, signal);
      expect(arrived.status).toBe('arrived');
      sandbox.rules.repeatedCheckIn = 'conflict';
      expect(await api.appointments.checkIn(tenantId, id, signal)).toEqual(arrived);
      expect(await api.appointments.remove(tenantId, id, signal)).toBe(true);
      expect(await api.appointments.read(tenantId, id, signal)).toMatchObject({ found: { status: 'cancelled' } });
      expect(await failureOf(api.appointments.setStatus(tenantId, id, { status: 'confirmed' }, signal))).toMatchObject({
        actor: 'conflict',
        code: 'transition-refused',
      });
    });

    test('a booked slot, which is no longer free, and cannot be booked again', async () => {
      const { api, tenantId } = world;
      const slot = await freeSlot(world, 12);
      const { id } = await api.appointments.create(tenantId, slot, signal);
      const window = { fromAt: slot.start, toAt: slot.start + 1000 };
      const question = { window, agendaIds: [slot.agendaId] };
      expect(await all(api.availabilities.list(tenantId, question, signal))).toEqual([]);
      const patientId = (await somePatient(world)).id;
      const taken = await failureOf(api.appointments.create(tenantId, { ...slot, patientId }, signal));
      expect(taken).toMatchObject({ actor: 'conflict', code: 'conflict' });
      expect(await api.appointments.remove(tenantId, id, signal)).toBe(true);
      expect(await api.appointments.remove(tenantId, id, signal)).toBe(false);
    });

    test('an episode with practices and doctors: created, changed, removed', async () => {
      const { api, tenantId } = world;
      const [treatment] = await all(api.treatments.list(tenantId, [], signal));
      const known = (await all(api.episodes.list(tenantId, [], signal))).flatMap(({ practices }) => practices);
      const doctors = known.find((practice) => practice.doctors.length > 1)?.doctors ?? [];
      const practice = {
        treatmentId: treatment?.id,
        description: 'Prima visita',
        quantity: '1',
        price: '120.10',
        doctors,
      };
      const values = { patientId: (await somePatient(world)).id, openedAt: NOW, title: 'Ginocchio', status: 'Open' };
      const made = await api.episodes.create(tenantId, { ...values, practices: [practice as never] }, signal);
      expect(made).toMatchObject(values);
      expect(made.practices).toMatchObject([{ description: 'Prima visita', doctors }]);
      expect(cents(made.practices[0]?.price)).toBe(12_010);

      const changes = { status: 'InProgress', practices: [...made.practices, { ...practice, doctors: [] } as never] };
      const changed = await api.episodes.update(tenantId, made.id, changes, signal);
      expect(changed).toMatchObject({
        ...values,
        status: 'InProgress',
        practices: [made.practices[0], { doctors: [] }],
      });
      const refused = api.episodes.create(tenantId, { ...values, patientId: '999999' }, signal);
      const failure = await failureOf(refused);
      expect(failure).toMatchObject({ actor: 'contract', code: 'rule-refused' });
      expect(failure.vendorMessages().join(' ')).toMatch(/unknown patient/i);
      expect(await api.episodes.remove(tenantId, made.id, signal)).toBe(true);
      expect(await api.episodes.read(tenantId, made.id, signal)).toEqual({ absent: true });
      const gone = await failureOf(api.episodes.update(tenantId, made.id, { title: 'x' }, signal));
      expect(gone).toMatchObject({ actor: 'conflict', code: 'record-gone' });
    });

    test('a report with its PDF, byte for byte', async () => {
      const { api, tenantId } = world;
      const pdf = randomPdf(300_001, 'referto "à".pdf');
      const values = {
        patientId: (await somePatient(world)).id,
        title: 'Ecografia',
        reportDate: TODAY,
        status: 'Signed',
      };
      const made = await api.medicalReports.create(tenantId, values, pdf, signal);
      const sha256 = createHash('sha256').update(pdf.bytes).digest('hex');
      expect(made).toMatchObject({ ...values, fileSizeBytes: pdf.sizeBytes, sha256 });
      const download = await api.medicalReports.pdf(tenantId, made.id, signal);
      expect((await bytesOf(download?.chunks ?? ([] as never))).equals(pdf.bytes)).toBe(true);
    });

    test('no report that is too large, by the profile or by the clinic, and nothing that is no PDF', async () => {
      const { api, tenantId, sandbox } = world;
      const values = { patientId: (await somePatient(world)).id, title: 'Too large', reportDate: TODAY };
      const asked = sandbox.counts.requests();
      const large = { ...randomPdf(100), sizeBytes: 25_000_001 };
      const tooLarge = { actor: 'settings', code: 'file-too-large' };
      expect(await failureOf(api.medicalReports.create(tenantId, values, large, signal))).toMatchObject(tooLarge);
      expect(sandbox.counts.requests()).toBe(asked);
      sandbox.rules.maxReportBytes = 50_000;
      const refused = await failureOf(api.medicalReports.create(tenantId, values, randomPdf(60_000), signal));
      expect(refused).toMatchObject(tooLarge);
      const page = {
        ...randomPdf(100),
        open: async function* () {
          yield Buffer.alloc(100, '<html>');
        },
      };
      expect(await failureOf(api.medicalReports.create(tenantId, values, page, signal))).toMatchObject({
        code: 'not-a-pdf',
      });
      const grown = { ...randomPdf(100), sizeBytes: 90 };
      expect(await failureOf(api.medicalReports.create(tenantId, values, grown, signal))).toMatchObject({
        code: 'file-changed',
      });
      const reports = await all(api.medicalReports.list(tenantId, [], signal));
      expect(reports.filter(({ title }) => title === 'Too large')).toEqual([]);
    });

    test('invoices one after the other, and what is paid back of them', async () => {
      const { api, tenantId } = world;
      const values = await newInvoice(world);
      const made = await Promise.all([1, 2, 3, 4, 5, 6].map(() => api.invoices.create(tenantId, values, signal)));
      const numbers = made.map(({ number }) => Number.parseInt(number ?? '', 10)).sort((a, b) => a - b);
      expect(numbers.map((number) => number - (numbers[0] ?? 0))).toEqual([0, 1, 2, 3, 4, 5]);
      const [invoice] = made;
      expect(invoice).toMatchObject({
        status: 'Issued',
        documentType: 'Invoice',
        items: [{ vatExemptionCode: 'Art10_n18' }],
      });
      expect(cents(invoice?.totalAmount)).toBe(8250);

      const back = { amount: '30.25', date: TODAY, payer: 'Mutua', method: 'Bonifico', reference: 'b1' };
      const reimbursed = await api.invoices.addReimbursements(tenantId, invoice?.id ?? '', [back], signal);
      expect(reimbursed.reimbursements).toMatchObject([{ date: TODAY, payer: 'Mutua', reference: 'b1' }]);
      expect(cents(reimbursed.reimbursedAmount)).toBe(3025);
      const more = api.invoices.addReimbursements(tenantId, invoice?.id ?? '', [{ ...back, amount: '60' }], signal);
      expect(await failureOf(more)).toMatchObject({ actor: 'contract', code: 'rule-refused' });
      const gone = api.invoices.addReimbursements(tenantId, 'none', [back], signal);
      expect(await failureOf(gone)).toMatchObject({ actor: 'conflict', code: 'record-gone' });
    });

    test('no invoice out of sequence, and refuses it at once', async () => {
      const { api, tenantId } = world;
      const values = await newInvoice(world);
      const early = await failureOf(api.invoices.create(tenantId, { ...values, issueDate: '2020-01-01' }, signal));
      expect(early).toMatchObject({ actor: 'conflict', code: 'out-of-sequence' });
      const wrong = await failureOf(api.invoices.create(tenantId, { ...values, number: '1/Z' }, signal));
      expect(wrong).toMatchObject({ actor: 'conflict', code: 'out-of-sequence' });
    });
  });
}
