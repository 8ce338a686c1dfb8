import { expect, onTestFinished, test } from 'vitest';
import { compareValues, expectedState } from '../../demo/crm-expected.ts';
import { openPatientDesk } from '../../demo/patient-desk.ts';
import { startClinicSandbox } from '../../sandbox/clinic/index.ts';

const NOON = Date.parse('2026-03-20T12:00:00+01:00');

async function openClinic() {
  const clinic = await startClinicSandbox({ tenants: [{ patients: 12, appointments: 40, agendas: 1 }], now: NOON });
  onTestFinished(() => clinic.close());
  const clinicId = clinic.tenants[0]?.id ?? '';
  const owner = { tenant: 'aurora', clinic, clinicId, window: { pastDays: 30, futureDays: 90 }, unexplained: null };
  return { clinic, clinicId, owner, expected: () => expectedState(owner, 'privacy', NOON) };
}

test('missing, duplicate and different records are counted', async () => {
  const { contacts } = (await openClinic()).expected();
  const [first, second, ...others] = contacts;
  expect(compareValues(contacts, contacts)).toEqual({ records: 12, remoteEvents: 12, duplicates: 0, missing: 0 });
  expect(compareValues(contacts, [second ?? {}, ...others])).toMatchObject({ duplicates: 0, missing: 1 });
  expect(compareValues(contacts, [first ?? {}, ...contacts])).toMatchObject({ duplicates: 1, missing: 0 });
  const stale = [{ ...first, phone: '+39021' }, second ?? {}, ...others];
  expect(compareValues(contacts, stale)).toMatchObject({ duplicates: 1, missing: 1 });
});

test('expected records follow the actions at the front desk', async () => {
  const { clinic, clinicId, expected } = await openClinic();
  const world = { clinic, clinicTenants: new Map([['aurora', clinicId]]), crms: [] };
  const desk = openPatientDesk(world);
  const before = expected().contacts;

  desk.change('aurora', 'phone-changed');
  expect(compareValues(expected().contacts, before)).toMatchObject({ duplicates: 1, missing: 1 });
  desk.change('aurora', 'registered');
  expect(expected().contacts).toHaveLength(13);
  desk.change('aurora', 'consent-withdrawn');
  expect(expected().contacts).toHaveLength(12);
  desk.change('aurora', 'consent-given');
  expect(expected().contacts).toHaveLength(13);
  expect(desk.change('aurora', 'consent-given')).toBeNull();
});

test('an appointment ahead is the next visit, one that was cancelled is none', async () => {
  const { clinic, clinicId, expected } = await openClinic();
  const newcomer = clinic.registerPatient(clinicId);
  const contact = () =>
    expected().contacts.find(({ lastName, email }) => {
      return lastName === newcomer.lastName && email === newcomer.email;
    });
  expect(contact()).toMatchObject({ visits: 0, nextVisit: null, standing: 'lapsed' });
  const visits = expected().visits.length;
  const start = Date.parse('2026-03-29T09:00:00+02:00');
  const { id } = clinic.book(clinicId, { patientId: newcomer.id, start });
  expect(contact()).toMatchObject({ visits: 0, nextVisit: '2026-03-29', standing: 'new' });
  expect(expected().visits).toHaveLength(visits + 1);
  clinic.cancel(clinicId, id);
  expect(contact()).toMatchObject({ nextVisit: null, standing: 'lapsed' });
  expect(expected().visits).toHaveLength(visits);
});
