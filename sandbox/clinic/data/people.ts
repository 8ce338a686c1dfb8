import { faker } from '@faker-js/faker/locale/it';
import type { Random } from './random.ts';
import type { Address, PatientDetails } from './records.ts';

/** Months as the Italian tax code writes them (decree 23 December 1976, article 4). */
const TAX_CODE_MONTHS = 'ABCDEHLMPRST';

const PROVINCES = ['MI', 'RM', 'TO', 'NA', 'BO', 'FI', 'GE', 'BA', 'PA', 'VR', 'PD', 'BS'];

export interface Name {
  firstName: string;
  lastName: string;
}

export interface NewPatient extends Name {
  phone: string | null;
  email: string | null;
  details: PatientDetails;
}

/**
 * Generates fictional Italian people; equal seeds give equal people. The library behind it is shared by the whole process: create an
 * instance, use it and drop it without an await in between.
 */
export interface People {
  name(): Name;
  patient(): NewPatient;
  address(): Address;
  phone(): string;
  companyName(): string;
}

/** `now` (epoch ms) bounds the dates of birth. */
export function createPeople(seed: number, random: Random, now: number): People {
  faker.seed(seed);
  faker.setDefaultRefDate(new Date(now));

  function name(): Name {
    return { firstName: faker.person.firstName(), lastName: faker.person.lastName() };
  }

  function phone(): string {
    return `+39 3${random.integer(20, 99)} ${random.integer(1000000, 9999999)}`;
  }

  function address(): Address {
    return {
      street: faker.location.streetAddress(),
      city: faker.location.city(),
      province: random.pick(PROVINCES),
      postalCode: faker.location.zipCode(),
      country: 'IT',
    };
  }

  function patient(): NewPatient {
    const gender = random.pick(['M', 'F'] as const);
    const { lastName } = name();
    const firstName = faker.person.firstName(gender === 'M' ? 'male' : 'female');
    const birthDate = dateOfBirth(random, now);
    const details: PatientDetails = {
      taxCode: random.chance(0.04) ? null : taxCode(random, { firstName, lastName }, birthDate, gender),
      birthDate,
      birthPlace: faker.location.city(),
      gender,
      mobilePhone: random.chance(0.8) ? phone() : null,
      address: random.chance(0.9) ? address() : null,
      vatNumber: null,
      notes: null,
      externalId: null,
      consents: consentsOf(birthDate, random.chance(0.4), now),
      isActive: true,
    };
    return {
      firstName,
      lastName,
      phone: random.chance(0.95) ? phone() : null,
      email: random.chance(0.75) ? emailOf({ firstName, lastName }, random.integer(1, 9999)) : null,
      details,
    };
  }

  return { name, patient, address, phone, companyName: () => faker.company.name() };
}

function emailOf(person: Name, number: number): string {
  return `${plainLetters(person.firstName)}.${plainLetters(person.lastName)}${number}@example.com`.toLowerCase();
}

function plainLetters(name: string): string {
  return name.normalize('NFD').replace(/[^a-zA-Z]/g, '');
}

function dateOfBirth(random: Random, now: number): string {
  const year = new Date(now).getUTCFullYear() - random.integer(1, 92);
  const month = String(random.integer(1, 12)).padStart(2, '0');
  const day = String(random.integer(1, 28)).padStart(2, '0');
  return `${year}-${month}-${day}`;
}

/** Privacy is always consented to, the health record by every other person; the days come from the date of birth. */
function consentsOf(birthDate: string, marketing: boolean, now: number): PatientDetails['consents'] {
  const day = Number(birthDate.slice(8));
  const date = new Date(now - (30 + day * 9) * 86_400_000).toISOString().slice(0, 10);
  const record = day % 2 === 0;
  return {
    privacy: { granted: true, date },
    marketing: { granted: marketing, date: marketing ? date : null },
    electronicHealthRecord: { granted: record, date: record ? date : null },
  };
}

/** Returns a tax code of the right shape. Its check letter is not computed, because the sandbox never verifies it. */
function taxCode(random: Random, person: Name, birthDate: string, gender: 'M' | 'F'): string {
  const [year = '', month = '', day = ''] = birthDate.split('-');
  const birthDay = Number(day) + (gender === 'F' ? 40 : 0);
  const place = `H${random.integer(100, 999)}`;
  const check = random.pick([...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']);
  const date = `${year.slice(2)}${TAX_CODE_MONTHS[Number(month) - 1]}${String(birthDay).padStart(2, '0')}`;
  return `${threeLetters(person.lastName)}${threeLetters(person.firstName)}${date}${place}${check}`;
}

function threeLetters(name: string): string {
  const letters = plainLetters(name).toUpperCase();
  const consonants = letters.replace(/[AEIOU]/g, '');
  const vowels = letters.replace(/[^AEIOU]/g, '');
  // Names that are too short are filled up with X.
  return `${consonants}${vowels}`.slice(0, 3).padEnd(3, 'X');
}
