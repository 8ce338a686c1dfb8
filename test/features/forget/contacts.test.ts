import { describe, expect, test } from 'vitest';
import { contactsOf, formsOf } from '../../../src/features/forget/contacts.ts';

describe('contacts', () => {
  test('are compared without case, spaces and prefix of the country', () => {
    expect(formsOf({ kind: 'email', address: ' Ottavia@Example.org ' })).toEqual(['ottavia@example.org']);
    expect(formsOf({ kind: 'phone', address: '333 773 1773' })).toEqual(['+393337731773']);
    expect(formsOf({ kind: 'phone', address: '0171 2345678' }, 'DE')).toEqual(['+491712345678']);
  });

  test('that are no address and no number have no form', () => {
    expect([formsOf({ kind: 'email', address: 'ottavia' }), formsOf({ kind: 'phone', address: '12' })]).toEqual([
      [],
      [],
    ]);
  });

  test('of a patient are the address and every number of both fields', () => {
    const patient = { email: 'a@b.it', mobilePhone: '3337731773', phone: '06 69812345 / 333 7731774' };
    expect(contactsOf(patient).map(({ address }) => address)).toEqual([
      ...['a@b.it', '+393337731773', '+390669812345', '+393337731774'],
    ]);
  });
});
