import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Location } from '../../../src/core/model/records.ts';
import { type ContentInput, contentOf, languageOf } from '../../../src/features/reminders/content.ts';
import { compileRules } from '../../../src/features/reminders/rules.ts';
import { reminderSchema } from '../../../src/settings/reminder-schema.ts';
import { patientOf } from './reminder-world.ts';

const START = Date.parse('2026-12-07T09:05:00+01:00');

function input(options: { file?: object; texts?: object } & Partial<Omit<ContentInput, 'file'>> = {}): ContentInput {
  const { file: own, texts, ...rest } = options;
  const file = reminderSchema.parse({
    channels: { text: { kind: 'sms' } },
    rules: { one: { before: 'P1D', channels: ['text'], ...(texts === undefined ? {} : { texts }) } },
    ...own,
  });
  const rule = compileRules(file).rules.get('one');
  if (rule === undefined) throw new Error('no rule');
  const facts = {
    language: 'it' as const,
    clinic: 'Studio Rossi',
    startAt: START,
    zone: 'Europe/Rome',
    location: null,
    link: null,
  };
  return { rule, file, patient: patientOf('p1'), ...facts, ...rest };
}

describe('the text of a reminder', () => {
  test.each([
    ['it', {}, 'Promemoria: appuntamento lunedì 7 dicembre alle 09:05, Studio Rossi.'],
    ['en-GB', {}, 'Reminder: appointment on Monday 7 December at 09:05, Studio Rossi.'],
    [
      null,
      { phone: '06 12' },
      'Promemoria: appuntamento lunedì 7 dicembre alle 09:05, Studio Rossi. Per disdire o spostare: 06 12.',
    ],
    ['de', { sender: 'Studio' }, 'Promemoria: appuntamento lunedì 7 dicembre alle 09:05, Studio.'],
  ])('in the language %j with %j', (language, file, text) => {
    expect(contentOf(input({ file, patient: patientOf('p1', { language }) })).text).toBe(text);
  });

  test('shows the time of the zone that the patient is in', () => {
    expect(contentOf(input({ zone: 'Europe/London' })).text).toContain('alle 08:05');
  });

  test('names neither the patient nor the treatment nor the doctor unless a rule does', () => {
    const { subject, text } = contentOf(input());
    expect(`${subject} ${text}`).not.toMatch(/Anna|Verdi/);
  });

  test('of a rule: with its fields, and without a gap if the clinic has no value', () => {
    const texts = { it: { text: 'Gentile {firstName}, {date} {time}, {address}.' } };
    const location: Location = { id: 'l', name: 'Sede', address: 'Via Roma\n1', zone: null };
    expect(contentOf(input({ texts, location })).text).toBe('Gentile Anna, 07/12/2026 09:05, Via Roma 1.');
    const bare = contentOf(input({ texts, patient: patientOf('p1', { firstName: null }) })).text;
    expect(bare).toBe('Gentile, 07/12/2026 09:05,.');
  });

  test('keeps braces and dollars in a name', () => {
    const texts = { it: { text: '{firstName}|{time}' } };
    const text = contentOf(input({ texts, patient: patientOf('p1', { firstName: '{time} $& $1' }) })).text;
    expect(text).toBe('{time} $& $1|09:05');
  });

  test('is one line per line of the template, whatever a name holds', () => {
    const texts = { it: { text: '{firstName}', subject: '{firstName}' } };
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (firstName) => {
        const { subject, text } = contentOf(input({ texts, patient: patientOf('p1', { firstName }) }));
        expect(subject).not.toMatch(/\p{Cc}/u);
        expect(text).not.toMatch(/\p{Cc}/u);
      }),
    );
  });

  test('holds only characters that a text message of seven bits can', () => {
    // 3GPP TS 23.038 section 6.2.1, as far as our texts could need it.
    const gsm = /^[A-Za-z0-9 @£$èéùìòÅåÆæÉÄÖÑÜäöñüà!"#%&'()*+,\-./:;<=>?\n]*$/;
    for (const language of ['it', 'en']) {
      for (let month = 0; month < 12; month += 1) {
        for (let day = 1; day < 8; day += 1) {
          const startAt = Date.UTC(2026, month, day, 14, 30);
          const { text } = contentOf(
            input({ startAt, file: { phone: '06 1234567' }, patient: patientOf('p', { language }) }),
          );
          expect(text).toMatch(gsm);
          expect(text.length).toBeLessThanOrEqual(160);
        }
      }
    }
  });
});

test.each([
  ['it', 'it'],
  ['it-CH', 'it'],
  ['Italiano', 'it'],
  ['ITA', 'it'],
  ['en_US', 'en'],
  ['English', 'en'],
  ['inglese', 'en'],
  ['Irish', 'it'],
  ['item', 'it'],
  ['enough', 'it'],
  ['', 'it'],
  [null, 'it'],
] as const)('the language that a clinic calls %j is %s', (told, language) => {
  expect(languageOf(told, 'it')).toBe(language);
});
