import { expect, test } from 'vitest';
import { compileAppointmentRows } from '../../src/clinic/read/appointment-rows.ts';
import { compileAgendaRows, compileLocationRows, compilePatientRows } from '../../src/clinic/read/catalogue-rows.ts';
import { committedProfile } from './open-client.ts';

const PROFILE = committedProfile('fhir-r4');
const mapAppointment = compileAppointmentRows(PROFILE);
const meta = { versionId: '2', lastUpdated: '2026-01-10T08:00:00.123+01:00' };

/** An appointment in the form of the examples of FHIR R4 (https://hl7.org/fhir/R4/appointment-examples.html). */
const APPOINTMENT = {
  ...{ resourceType: 'Appointment', id: 'example', meta, status: 'booked', comment: 'Bring the letter' },
  ...{ start: '2026-03-29T10:00:00+02:00', end: '2026-03-29T08:30:00Z', minutesDuration: 15 },
  participant: [
    { type: [{ coding: [{ code: 'ATND' }] }], status: 'accepted' },
    { actor: { reference: 'Location/1', display: 'South Wing' }, status: 'accepted' },
    {
      actor: { reference: 'https://clinic.example/fhir/R4/Patient/17', display: 'Peter Chalmers' },
      status: 'accepted',
    },
    { actor: { reference: 'Practitioner/dr-7', display: 'Dr Adam Careful' }, status: 'accepted' },
    { actor: { reference: 'HealthcareService/eye/_history/3' }, status: 'accepted' },
  ],
};

test('an appointment is read from its participants, instants and status', () => {
  expect(mapAppointment(APPOINTMENT)).toEqual({
    record: {
      ...{ id: 'example', agendaId: 'dr-7', locationId: '1', patientId: '17', treatmentId: 'eye' },
      patient: { id: '17', firstName: 'Peter', lastName: 'Chalmers' },
      time: { kind: 'timed', startAt: Date.parse('2026-03-29T08:00Z'), endAt: Date.parse('2026-03-29T08:30Z') },
      ...{ status: 'booked', rawStatus: 'booked', updatedAt: Date.parse('2026-01-10T07:00:00.123Z') },
    },
  });
});

test.each([
  ['proposed', 'booked'],
  ['pending', 'booked'],
  ['booked', 'booked'],
  ['arrived', 'arrived'],
  ['checked-in', 'arrived'],
  ['fulfilled', 'completed'],
  ['cancelled', 'cancelled'],
  ['noshow', 'no_show'],
  ['entered-in-error', 'cancelled'],
  ['waitlist', 'booked'],
])('the status %s means %s', (said, status) => {
  expect(mapAppointment({ ...APPOINTMENT, status: said })).toMatchObject({ record: { status } });
});

test.each(['proposed', 'waitlist', 'cancelled', 'entered-in-error'])('%s without a time is removed', (status) => {
  const { start: _start, end: _end, ...untimed } = APPOINTMENT;
  expect(mapAppointment({ ...untimed, status })).toMatchObject({ unusable: { isTombstone: true } });
  expect(mapAppointment({ ...untimed, status: 'booked' })).toMatchObject({ unusable: { code: 'missing-field' } });
});

test('an appointment of two practitioners belongs to both', () => {
  const another = { actor: { reference: 'Practitioner/dr-8' }, status: 'accepted' };
  const participant = [...APPOINTMENT.participant, another];
  expect(mapAppointment({ ...APPOINTMENT, participant })).toMatchObject({
    record: { agendaId: 'dr-7', agendaIds: ['dr-7', 'dr-8'] },
  });
});

const PATIENT = {
  ...{ resourceType: 'Patient', id: '17', meta, active: true, gender: 'male', birthDate: '1974-12-25' },
  name: [
    { use: 'nickname', given: ['Jim'] },
    { use: 'official', family: 'Chalmers', given: ['Peter', 'James'] },
  ],
  telecom: [
    { system: 'email', use: 'mobile', value: 'p@example.org' },
    { system: 'phone', use: 'work', value: '+39 02 1' },
    { system: 'phone', use: 'mobile', value: '+39 333 1' },
  ],
  address: [{ line: ['534 Erewhon St', 'Floor 2'], city: 'PleasantVille', postalCode: '3999' }],
  identifier: [{ value: 'MRN' }, { type: { coding: [{ code: 'XX' }, { code: 'TAX' }] }, value: 'CHLPTR' }],
};

test('a patient is read from names, contacts by system and use, and identifiers by type', () => {
  expect(compilePatientRows(PROFILE)(PATIENT)).toMatchObject({
    record: {
      ...{ id: '17', firstName: 'Peter', lastName: 'Chalmers', taxCode: 'CHLPTR', gender: 'M', isActive: true },
      ...{ email: 'p@example.org', phone: '+39 02 1', mobilePhone: '+39 333 1', birthDate: '1974-12-25' },
      address: { street: '534 Erewhon St', city: 'PleasantVille', postalCode: '3999' },
    },
  });
  const link = [
    { type: 'seealso', other: { reference: 'Patient/3' } },
    { type: 'replaced-by', other: { reference: 'Patient/4' } },
  ];
  expect(compilePatientRows(PROFILE)({ ...PATIENT, link })).toMatchObject({ unusable: { mergedInto: '4' } });
});

test('a practitioner is an agenda, and a location has an address and a zone', () => {
  const name = [{ family: 'Careful', given: ['Adam'] }];
  expect(compileAgendaRows(PROFILE)({ resourceType: 'Practitioner', id: 'dr-7', active: true, name })).toMatchObject({
    record: { id: 'dr-7', name: 'Careful' },
  });
  const extension = [{ url: 'http://hl7.org/fhir/StructureDefinition/timezone', valueCode: 'Europe/London' }];
  const address = { line: ['Galapagosweg 91'], city: 'Den Burg' };
  const row = { resourceType: 'Location', id: '1', name: 'South Wing', status: 'active', address, extension };
  expect(compileLocationRows(PROFILE)(row)).toMatchObject({
    record: { id: '1', name: 'South Wing', address: 'Galapagosweg 91, Den Burg', zone: 'Europe/London' },
  });
});
