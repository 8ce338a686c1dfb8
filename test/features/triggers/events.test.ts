import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isTooLarge } from '../../../src/core/http/signed-webhook.ts';
import { invoiceSubject, messageOf, reportSubject } from '../../../src/features/triggers/events.ts';
import { createTriggerNames } from '../../../src/features/triggers/ports.ts';
import { invoice, report } from './trigger-world.ts';

describe('a report', () => {
  test.each([
    ['Final', 10, true],
    ['Signed', 10, true],
    ['Signed', null, true],
    [null, 10, true],
    [null, null, true],
    ['Final', 0, false],
    ['Draft', 10, false],
    ['Replaced', 10, false],
    ['in_review', 10, false],
  ])('in the status %s with a file of %s bytes is available: %s', (status, fileSizeBytes, tells) => {
    expect(reportSubject(report('r', { status, fileSizeBytes })).sends).toBe(tells);
  });
});

describe('an invoice', () => {
  test.each([
    ['Issued', 'Invoice', true],
    ['PartiallyPaid', 'Invoice', true],
    ['Paid', 'Receipt', true],
    ['Paid', null, true],
    ['Issued', 'CreditNote', false],
    ['Draft', 'Invoice', false],
    ['Cancelled', 'Invoice', false],
    [null, 'Invoice', false],
    ['sent', 'Invoice', false],
  ])('in the status %s and of the type %s is issued: %s', (status, documentType, tells) => {
    expect(invoiceSubject(invoice('i', { status, documentType })).sends).toBe(tells);
  });

  test('gives a message only its ids', () => {
    const body = messageOf('studio', 'invoice.issued', invoiceSubject(invoice('i-1', { patientId: null })), 0);
    expect(JSON.parse(body)).toEqual({
      type: 'invoice.issued',
      timestamp: '1970-01-01T00:00:00.000Z',
      data: { tenant: 'studio', invoiceId: 'i-1', patientId: null },
    });
    expect(isTooLarge(body)).toBe(false);
  });
});

describe('the name of a message', () => {
  const key = Buffer.alloc(32, 1);
  const subjects = fc.record({
    endpoint: fc.string(),
    event: fc.constantFrom('report.available' as const, 'invoice.issued' as const),
    recordId: fc.string(),
  });

  test('differs with every part of it, and fits into a header without a full stop', () => {
    const name = createTriggerNames(key, 'studio');
    fc.assert(
      fc.property(subjects, subjects, (one, other) => {
        expect(name(one)).toMatch(/^[0-9a-v]{32}$/);
        expect(name(one) === name(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });

  test('differs with the tenant and the identity key', () => {
    const subject = { endpoint: 'portal', event: 'report.available' as const, recordId: '1' };
    const names = [
      createTriggerNames(key, 'studio')(subject),
      createTriggerNames(key, 'other')(subject),
      createTriggerNames(Buffer.alloc(32, 2), 'studio')(subject),
    ];
    expect(new Set(names).size).toBe(3);
  });
});
