import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { NOW } from '../../sandbox/clinic/support.ts';
import { all, openApi } from '../open-api.ts';
import { committedProfile, failureOf } from '../open-client.ts';
import { loseNextAnswer, randomPdf, signal, type World } from './world.ts';
import { freeSlot, newInvoice, somePatient } from './writing.ts';

const TODAY = '2026-03-20';

/** Failures that every dialect must handle. */
export function describeFailure(world: World): void {
  describe('a create whose answer was lost is made once:', () => {
    test('a patient, by name and date of birth', async () => {
      const { api, tenantId } = world;
      loseNextAnswer(world, 'POST', '/patients');
      const values = { firstName: 'Bea', lastName: 'Verdi', birthDate: '1980-05-05' };
      expect(await api.patients.create(tenantId, values, signal)).toMatchObject(values);
      const patients = await all(api.patients.list(tenantId, [], signal));
      expect(patients.filter(({ firstName, lastName }) => firstName === 'Bea' && lastName === 'Verdi')).toHaveLength(1);
    });

    test('a patient without anything to find it by, which is not sent again', async () => {
      const { api, tenantId } = world;
      loseNextAnswer(world, 'POST', '/patients');
      const failure = await failureOf(api.patients.create(tenantId, { firstName: 'Cleo', lastName: 'Neri' }, signal));
      expect(failure).toMatchObject({ actor: 'remote', ambiguous: true });
      const patients = await all(api.patients.list(tenantId, [], signal));
      expect(patients.filter(({ firstName }) => firstName === 'Cleo')).toHaveLength(1);
    });

    test('an appointment, by agenda, patient and start', async () => {
      const { api, tenantId } = world;
      const slot = await freeSlot(world, 20);
      const patientId = (await somePatient(world)).id;
      loseNextAnswer(world, 'POST', '/appointments');
      expect(await api.appointments.create(tenantId, { ...slot, patientId }, signal)).toMatchObject({
        ...slot,
        patientId,
      });
    });

    test('an episode, by patient, title and time', async () => {
      const { api, tenantId } = world;
      const values = { patientId: (await somePatient(world)).id, openedAt: NOW, title: 'Caviglia' };
      loseNextAnswer(world, 'POST', '/episodes');
      expect(await api.episodes.create(tenantId, values, signal)).toMatchObject(values);
      const episodes = await all(api.episodes.list(tenantId, [], signal));
      expect(episodes.filter(({ title }) => title === 'Caviglia')).toHaveLength(1);
    });

    test('a report, by patient, date, title and size', async () => {
      const { api, tenantId } = world;
      const values = { patientId: (await somePatient(world)).id, title: 'Radiografia', reportDate: TODAY };
      loseNextAnswer(world, 'POST', '/medicalreports');
      const made = await api.medicalReports.create(tenantId, values, randomPdf(5000), signal);
      expect(made).toMatchObject({ ...values, fileSizeBytes: 5000 });
      const reports = await all(api.medicalReports.list(tenantId, [], signal));
      expect(reports.filter(({ title }) => title === 'Radiografia')).toHaveLength(1);
    });

    test('an invoice, by the numbers that its section gave out', async () => {
      const { api, tenantId } = world;
      const values = await newInvoice(world);
      const before = await all(api.invoices.list(tenantId, [], signal));
      loseNextAnswer(world, 'POST', '/invoices');
      const made = await api.invoices.create(tenantId, values, signal);
      const after = await all(api.invoices.list(tenantId, [], signal));
      expect(after.length).toBe(before.length + 1);
      expect(before.map(({ id }) => id)).not.toContain(made.id);
    });

    test('an invoice that was not made, which is sent again', async () => {
      const { api, tenantId, sandbox } = world;
      const values = await newInvoice(world);
      const before = await all(api.invoices.list(tenantId, [], signal));
      sandbox.faults.add({
        fault: { kind: 'status', status: 503 },
        match: { method: 'POST', path: '/invoices' },
        times: 1,
      });
      await api.invoices.create(tenantId, values, signal);
      expect(await all(api.invoices.list(tenantId, [], signal))).toHaveLength(before.length + 1);
    });

    test('a reimbursement, by those of the invoice', async () => {
      const { api, tenantId } = world;
      const { id } = await api.invoices.create(tenantId, await newInvoice(world), signal);
      loseNextAnswer(world, 'POST', '/reimbursements');
      const back = { amount: '10.00', date: TODAY, reference: 'x' };
      const invoice = await api.invoices.addReimbursements(tenantId, id, [back], signal);
      expect(invoice.reimbursements).toHaveLength(1);
      loseNextAnswer(world, 'POST', '/reimbursements');
      const others = [{ ...back, reference: 'y' }, { ...back, reference: 'y' }, back];
      const after = await api.invoices.addReimbursements(tenantId, id, others, signal);
      expect(after.reimbursements.map(({ reference }) => reference)).toEqual(['x', 'y', 'y', 'x']);
    });

    test('a patient that cannot be read after it was made', async () => {
      const { api, tenantId, sandbox } = world;
      const values = { firstName: 'Elsa', lastName: 'Conti', birthDate: '1971-01-01' };
      sandbox.faults.add({ fault: { kind: 'cut-body' }, match: { method: 'POST', path: '/patients' }, times: 1 });
      sandbox.faults.add({
        fault: { kind: 'status', status: 503 },
        match: { method: 'GET', path: '/patients' },
        times: 3,
      });
      const failure = await failureOf(api.patients.create(tenantId, values, signal));
      expect(failure).toMatchObject({ ambiguous: true });
      sandbox.faults.clear();
      const patients = await all(api.patients.list(tenantId, [], signal));
      expect(patients.filter(({ firstName }) => firstName === 'Elsa')).toHaveLength(1);
    });

    test('a check-in', async () => {
      const { api, tenantId, sandbox } = world;
      const { id } = await api.appointments.create(tenantId, await freeSlot(world, 25), signal);
      sandbox.rules.repeatedCheckIn = 'conflict';
      loseNextAnswer(world, 'POST', '/checkin');
      expect(await api.appointments.checkIn(tenantId, id, signal)).toMatchObject({ id, status: 'arrived' });
    });
  });

  describe('tells', () => {
    test('a missing scope from a missing permission', async () => {
      const { sandbox, tenantId, apiOf } = world;
      const person = sandbox.tenants[0]?.user ?? sandbox.users.readOnly;
      const narrow = await apiOf(person, 'openid svc.agenda');
      const failure = await failureOf(all(narrow.invoices.list(tenantId, [], signal)));
      expect(failure).toMatchObject({ actor: 'authorization', code: 'missing-claim', status: 403 });
      const viewer = await apiOf(sandbox.users.readOnly);
      const refused = await failureOf(viewer.patients.create(tenantId, { firstName: 'A', lastName: 'B' }, signal));
      expect(refused).toMatchObject({ actor: 'authorization', code: 'insufficient-permissions', status: 403 });
    });

    test('no data of another tenant', async () => {
      const { sandbox, tenantId, api, apiOf, dialect } = world;
      const other = sandbox.tenants[1];
      if (other === undefined) throw new Error('the sandbox has one tenant');
      const theirs = await apiOf(other.user);
      const [patient] = await all(theirs.patients.list(other.id, [], signal));
      expect(await api.patients.read(tenantId, patient?.id ?? '', signal)).toEqual({ absent: true });
      const failure = await failureOf(all(api.patients.list(other.id, [], signal)));
      const refusal = { actor: 'authorization', code: 'insufficient-permissions', status: 403 };
      expect(failure).toMatchObject(dialect === 'hostile' ? { actor: 'settings', code: 'not-found' } : refusal);
    });

    test('a user without tenants', async () => {
      const { sandbox, apiOf } = world;
      for (const person of [sandbox.users.unknownAbsent, sandbox.users.unknownNull, sandbox.users.unknownEmpty]) {
        const api = await apiOf(person);
        expect(await failureOf(api.userInfo.read(signal))).toMatchObject({
          actor: 'authorization',
          code: 'user-unknown',
        });
      }
    });
  });

  test('renews a refused token once, for uploads and downloads too, and never puts the token into a URL', async () => {
    const { sandbox, tenantId, token, dialect } = world;
    let renewals = 0;
    const authorization = {
      header: async () => 'Bearer stale',
      renew: async () => {
        renewals += 1;
        return `Bearer ${token}`;
      },
    };
    const api = openApi(sandbox.baseUrl, committedProfile(dialect), token, { authorization });
    sandbox.recording.record(true);
    const values = { patientId: (await somePatient(world)).id, title: 'Token', reportDate: TODAY };
    const made = await api.medicalReports.create(tenantId, values, randomPdf(1000), signal);
    const pdf = await api.medicalReports.pdf(tenantId, made.id, signal);
    expect(pdf?.sizeBytes).toBe(1000);
    for await (const _ of pdf?.chunks ?? []) break;
    sandbox.recording.record(false);
    expect(renewals).toBeGreaterThanOrEqual(2);
    const recorded = sandbox.recording.recorded();
    expect(recorded.length).toBeGreaterThan(3);
    expect(recorded.filter(({ url }) => url.includes(token) || url.includes('stale'))).toEqual([]);
    sandbox.recording.clear();
  });

  test('sits a short throttle through, and a failing page', async () => {
    const { sandbox, tenantId, api } = world;
    sandbox.faults.add({
      fault: { kind: 'status', status: 429, headers: { 'retry-after': '1' } },
      match: { method: 'POST', path: '/patients' },
      times: 1,
    });
    sandbox.faults.add({
      fault: { kind: 'status', status: 503 },
      match: { method: 'GET', path: '/patients' },
      times: 1,
    });
    const made = await api.patients.create(tenantId, { firstName: 'Dora', lastName: 'Galli' }, signal);
    expect(await api.patients.read(tenantId, made.id, signal)).toEqual({ found: made });
  });

  test('omits an unreadable record and returns the others', async () => {
    const { sandbox, tenantId, api } = world;
    sandbox.faults.add({ fault: { kind: 'bad-rows' }, match: { path: '/episodes' }, times: 1 });
    let [records, unusable] = [0, 0];
    for await (const page of api.episodes.list(tenantId, [], signal)) {
      records += page.records.length;
      unusable += page.unusable.length;
    }
    expect(unusable).toBe(1);
    expect(records).toBeGreaterThan(2);
  });

  test('says that a download broke off', async () => {
    const { sandbox, tenantId, token, dialect } = world;
    const http = createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now });
    const api = openApi(sandbox.baseUrl, committedProfile(dialect), token, { http });
    const values = { patientId: (await somePatient(world)).id, title: 'Cut', reportDate: TODAY };
    const { id } = await api.medicalReports.create(tenantId, values, randomPdf(200_000), signal);
    sandbox.faults.add({ fault: { kind: 'cut-body' }, match: { path: '/pdf' }, times: 1 });
    const read = async () => {
      const pdf = await api.medicalReports.pdf(tenantId, id, signal);
      for await (const _ of pdf?.chunks ?? []);
    };
    expect(await failureOf(read())).toMatchObject({ actor: 'remote', retry: 'later' });
  });
}
