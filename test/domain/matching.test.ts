import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { Patient } from '../../src/core/model/records.ts';
import { phoneReader } from '../../src/domain/mapping/fields.ts';
import {
  comparedProperties,
  contactAsPerson,
  matchPeople,
  type Person,
  patientAsPerson,
} from '../../src/domain/matching.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import { patientOf } from '../tenant/world.ts';

const PHONE = phoneReader('IT');

function match(patients: Record<string, Partial<Person>>, contacts: Record<string, Partial<Person>>) {
  return atOnce(matchPeople(people(patients), people(contacts), PHONE));
}

function people(given: Record<string, Partial<Person>>): Map<string, Person> {
  const nobody = { name: '', birthDate: null, addresses: [], phones: [] };
  return new Map(Object.entries(given).map(([id, person]) => [id, { ...nobody, ...person }]));
}

describe('matching of patients and contacts', () => {
  test.each<[string, Partial<Person>, Partial<Person>, string[]]>([
    [
      'an e-mail address in any case',
      { addresses: ['Anna@Example.org'] },
      { addresses: [' anna@example.org'] },
      ['email'],
    ],
    ['one of several e-mail addresses', { addresses: ['a@x.org'] }, { addresses: ['b@x.org', 'a@x.org'] }, ['email']],
    ['a telephone, however it is written', { phones: ['333 123 4567'] }, { phones: ['+39 333-1234567'] }, ['phone']],
    [
      'name and birth date, whatever order, case and accents',
      { name: 'Niccolò De Luca', birthDate: '1980-02-29' },
      { name: 'DE LUCA Niccolo', birthDate: '1980-02-29' },
      ['name', 'birth-date'],
    ],
  ])('finds a match by %s', (_, patient, contact, same) => {
    expect(match({ p: patient }, { c: contact }).matches).toEqual([
      { recordId: 'p', remoteId: 'c', same, differs: [], contacts: 1, patients: 1 },
    ]);
  });

  test.each<[string, Partial<Person>, Partial<Person>]>([
    ['only a name', { name: 'Anna Verdi' }, { name: 'Anna Verdi' }],
    ['only a birth date', { birthDate: '1980-02-29' }, { birthDate: '1980-02-29' }],
    ['an invalid telephone number', { phones: ['call the son'] }, { phones: ['call the son'] }],
    ['an invalid e-mail address', { addresses: ['none'] }, { addresses: ['none'] }],
    ['no field', {}, {}],
  ])('finds no match by %s', (_, patient, contact) => {
    expect(match({ p: patient }, { c: contact }).matches).toEqual([]);
  });

  test('names the differing fields, which distinguish a mother from her son', () => {
    const address = { addresses: ['family@example.org'] };
    const { matches } = match(
      { mother: { ...address, name: 'Anna Verdi', birthDate: '1970-01-01' }, son: { ...address, name: 'Ugo Verdi' } },
      { c: { ...address, name: 'Verdi Anna', birthDate: '1970-01-01' } },
    );
    expect(matches).toEqual([
      {
        recordId: 'mother',
        remoteId: 'c',
        same: ['email', 'name', 'birth-date'],
        differs: [],
        contacts: 1,
        patients: 2,
      },
      { recordId: 'son', remoteId: 'c', same: ['email'], differs: ['name'], contacts: 1, patients: 2 },
    ]);
  });

  test('counts the contacts that may be one patient, across all matching fields', () => {
    const { matches } = match(
      { p: { addresses: ['a@x.org'], phones: ['3331234567'] } },
      { one: { addresses: ['a@x.org'] }, other: { phones: ['+393331234567'] } },
    );
    expect(matches.map(({ remoteId, contacts }) => [remoteId, contacts])).toEqual([
      ['one', 2],
      ['other', 2],
    ]);
  });

  test('ignores a value shared by too many patients, and counts it', () => {
    const reception = { phones: ['06 1234567'] };
    const many = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`p${index}`, reception]));
    expect(match(many, { c: reception })).toEqual({ matches: [], tooCommon: 1 });
    expect(match(many, { c: { phones: ['06 7654321'] } }).tooCommon).toBe(0);
  });

  test('is the same from both sides, and every pair shares what it says', () => {
    const person = fc.record({
      name: fc.constantFrom('', 'Anna Verdi', 'Ugo Verdi'),
      birthDate: fc.constantFrom(null, '1980-01-01', '1990-01-01'),
      addresses: fc.subarray(['a@x.org', 'b@x.org']),
      phones: fc.subarray(['3331234567', '3331234568']),
    });
    const some = fc.array(person, { maxLength: 6 }).map((list) => new Map(list.map((one, index) => [`${index}`, one])));
    fc.assert(
      fc.property(some, some, (one, other) => {
        const there = atOnce(matchPeople(one, other, PHONE)).matches;
        const back = atOnce(matchPeople(other, one, PHONE)).matches;
        const named = there.map(({ recordId, remoteId }) => `${recordId} ${remoteId}`);
        expect(named.toSorted()).toEqual(back.map(({ recordId, remoteId }) => `${remoteId} ${recordId}`).toSorted());
        expect(new Set(named).size).toBe(named.length);
        for (const { same } of there) {
          const tells = same.includes('email') || same.includes('phone');
          expect(tells || (same.includes('name') && same.includes('birth-date'))).toBe(true);
        }
      }),
    );
  });
});

describe('the compared fields', () => {
  const compared = comparedProperties(
    crmSchema.parse({
      mapping: {
        firstname: 'firstName',
        lastname: { from: 'lastName', transforms: ['title-case'] },
        email: 'email',
        mobilephone: { from: 'mobilePhone', transforms: ['e164'] },
        birth_year: { from: 'birthDate', transforms: ['year'] },
      },
    }),
  );
  const patient: Patient = patientOf('p', { birthDate: '1980-01-01', phone: '06 1234567' });

  test('is what the mapping says where the CRM has it, and a year is no birth date', () => {
    expect(patientAsPerson(patient, compared)).toEqual({
      name: 'Anna Verdi p',
      birthDate: null,
      addresses: ['family@example.org'],
      phones: ['06 1234567', '333 123 4567'],
    });
    const properties = {
      firstname: 'Anna',
      lastname: null,
      email: 'a@x.org',
      mobilephone: ' 333 1 ',
      birth_year: 1980,
    };
    expect(contactAsPerson({ properties, otherAddresses: ['b@x.org', ''] }, compared)).toEqual({
      name: 'Anna',
      birthDate: null,
      addresses: ['a@x.org', 'b@x.org'],
      phones: ['333 1'],
    });
  });

  test('omits from the file the fields that the CRM lacks', () => {
    const names = comparedProperties(crmSchema.parse({ mapping: { name: 'fullName', born: 'birthDate' } }));
    expect(patientAsPerson(patient, names)).toEqual({
      name: 'Anna Verdi p',
      birthDate: '1980-01-01',
      addresses: [],
      phones: [],
    });
    const properties = { name: 'Verdi Anna', born: '1980-01-01T00:00:00.000Z' };
    expect(contactAsPerson({ properties, otherAddresses: [] }, names)).toMatchObject({
      name: 'Verdi Anna',
      birthDate: '1980-01-01',
    });
  });
});
