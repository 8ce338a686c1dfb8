import { expect, test } from 'vitest';
import { addressOf } from '../../../src/features/reminders/recipients.ts';

const PATIENT = { email: ' anna@clinic.example ', mobilePhone: '347 123 4567', phone: '06 1234 5678' };

test.each([
  ['a mobile number in the form of the region', 'phone', PATIENT, '+393471234567'],
  [
    'a mobile number in the field for other numbers',
    'phone',
    { ...PATIENT, mobilePhone: null, phone: '3471234567' },
    '+393471234567',
  ],
  ['no landline', 'phone', { ...PATIENT, mobilePhone: null }, null],
  ['a mail address without blanks', 'email', PATIENT, 'anna@clinic.example'],
  ['no empty mail address', 'email', { ...PATIENT, email: '  ' }, null],
  ['nothing for a channel without addresses', 'nothing', PATIENT, null],
  ['nothing of an unknown patient', 'email', null, null],
] as const)('a patient is reached at %s', (_, needs, patient, address) => {
  expect(addressOf(needs, patient, 'IT')).toBe(address);
});
