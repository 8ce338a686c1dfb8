import { expect, test } from 'vitest';
import {
  compileAgendaRows,
  compileLocationRows,
  compilePatientRows,
  compileTreatmentRows,
} from '../../../src/clinic/read/catalogue-rows.ts';
import { committedProfile, profileOf } from '../open-client.ts';

const ROW = {
  id: 'p1',
  firstName: 'Ada',
  lastName: 'Bianchi',
  taxCode: 'BNCDAA51B68L219K',
  birthDate: '1951-02-28',
  gender: 'F',
  address: { street: 'Via Roma 1', city: 'Torino' },
  updatedAt: '2026-03-01T10:00:00+01:00',
};

test('a patient has what a registry elsewhere would want of them', () => {
  expect(compilePatientRows(profileOf())(ROW)).toMatchObject({
    record: {
      taxCode: 'BNCDAA51B68L219K',
      birthDate: '1951-02-28',
      gender: 'F',
      address: { street: 'Via Roma 1', city: 'Torino', postalCode: null, province: null, country: null },
      updatedAt: Date.parse('2026-03-01T10:00:00+01:00'),
    },
  });
});

test('a malformed or missing field is absent; the patient stays', () => {
  const odd = { ...ROW, taxCode: {}, birthDate: '28 febbraio', gender: false, address: null, updatedAt: 'yesterday' };
  const nothing = { taxCode: null, birthDate: null, gender: null, address: null, updatedAt: null };
  expect(compilePatientRows(profileOf())(odd)).toMatchObject({ record: { id: 'p1', firstName: 'Ada', ...nothing } });
});

test('digits are read as text, and a list of one value as the value', () => {
  const row = { ...ROW, firstName: 7, mobilePhone: 393331234567, email: ['a@b.it'], isActive: 'N' };
  expect(compilePatientRows(profileOf())({ ...row, address: { postalCode: 184 } })).toEqual({
    record: expect.objectContaining({
      ...{ firstName: '7', mobilePhone: '393331234567', email: 'a@b.it', isActive: false },
      address: { street: null, postalCode: '184', city: null, province: null, country: null },
    }),
  });
});

test('a value of another type in a field that is not needed is left empty and told, and the patient stays', () => {
  const odd = {
    email: ['a@b.it', 'c@d.it'],
    phone: { number: '06' },
    lastName: true,
    isActive: 'maybe',
    birthDate: 'x',
  };
  const mapped = compilePatientRows(profileOf())({ ...ROW, ...odd });
  expect(mapped).toMatchObject({
    record: { id: 'p1', firstName: 'Ada', email: null, phone: null, lastName: null, isActive: true },
  });
  const unread = 'unread' in mapped ? (mapped.unread ?? []) : [];
  expect([...unread].sort()).toEqual(['birthDate', 'email', 'isActive', 'lastName', 'phone']);
});

test('a gender is mapped to the model’s words', () => {
  const row = { id: 1, gender: 'f', birth_date: '1951-02-28T00:00:00' };
  const mapped = compilePatientRows(committedProfile('pages'))(row);
  expect(mapped).toMatchObject({ record: { id: '1', gender: 'F', birthDate: '1951-02-28' } });
});

test('an empty string is no value; a name is required, and may be empty', () => {
  const row = { ...ROW, lastName: '', email: '', isActive: '', address: { street: '', city: '' } };
  expect(compilePatientRows(profileOf())(row)).toMatchObject({
    record: { firstName: 'Ada', lastName: null, email: null, isActive: true, address: null },
  });
  const agendas = compileAgendaRows(profileOf());
  expect(agendas({ id: 1, name: '' })).toMatchObject({ record: { id: '1', name: '' } });
  expect(agendas({ id: 1 })).toEqual({ unusable: { recordId: '1', code: 'missing-field', field: 'name' } });
});

test('a patient merged into another one is a tombstone with the id of the remaining patient, if the profile names the field', () => {
  const rest = { codice: '9', mergedInto: 4 };
  const fields = { id: ['codice'] };
  const map = compilePatientRows(profileOf({ patients: { fields, merged: 'mergedInto' } }));
  const tombstone = { recordId: '9', code: 'tombstone', field: 'merged', isTombstone: true, mergedInto: '4' };
  expect(map(rest)).toEqual({ unusable: tombstone });
  for (const mergedInto of [null, '', '9']) expect(map({ ...rest, mergedInto })).toMatchObject({ record: { id: '9' } });
  expect(compilePatientRows(profileOf({ patients: { fields } }))(rest)).toMatchObject({ record: { id: '9' } });
});

test('a name that is too long to be stored is shortened', () => {
  const name = 'n'.repeat(1_000_000);
  const shorter = `${'n'.repeat(199)}…`;
  for (const compile of [compileAgendaRows, compileLocationRows, compileTreatmentRows])
    expect(compile(profileOf())({ id: 'a', name })).toMatchObject({ record: { id: 'a', name: shorter } });
});

test('a patient with lists in the row is read with the contacts that the paths name', () => {
  const fields = { mobilePhone: ['phones.0'], email: ['Mail[].address'], phone: ['telecom[system=phone].value'] };
  const row = {
    id: 'p',
    phones: ['333 1', '333 2'],
    Mail: [{ address: '' }, { address: 'a@b.it' }],
    telecom: [
      { system: 'email', value: 'x@y.it' },
      { system: 'phone', value: '06 1' },
    ],
  };
  expect(compilePatientRows(profileOf({ patients: { fields } }))(row)).toMatchObject({
    record: { mobilePhone: '333 1', email: 'a@b.it', phone: '06 1' },
  });
});
