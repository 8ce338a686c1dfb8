import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WrittenProfile } from '../open-client.ts';
import { ROW, recordOf } from './documented-row.ts';

describe('escapes in texts', () => {
  const unescapeTexts = true;
  const lastName = (text: string, written: WrittenProfile = { unescapeTexts }) =>
    recordOf({ ...ROW, patient: { ...ROW.patient, lastName: text } }, written).patient?.lastName;

  it.each([
    ['D&apos;ANGELO', "D'ANGELO"],
    ['D&#39;Angelo', "D'Angelo"],
    ['D&#x27;Angelo', "D'Angelo"],
    ['Nicol&ograve;', 'Nicolò'],
    ['M&uuml;ller &amp; Co.', 'Müller & Co.'],
    ['&amp;apos;', '&apos;'],
    ['&nothing; & &#0; &#xD800;', '&nothing; & &#0; &#xD800;'],
  ])('%s are replaced once if the profile says so', (text, expected) => {
    expect(lastName(text)).toBe(expected);
    expect(lastName(text, {})).toBe(text);
    const fullName = { path: 'name', order: 'family-first' as const, separator: ',' };
    const row = { ...ROW, patient: { id: 'pat-1' }, name: `${text}, Anna` };
    const written = { unescapeTexts, appointments: { patientFullName: fullName } };
    expect(recordOf(row, written).patient).toMatchObject({ lastName: expected, firstName: 'Anna' });
  });

  it('restore every text', () => {
    const escaped = (text: string) => text.replaceAll(/[^a-z]/giu, (one) => `&#${one.codePointAt(0)};`);
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-zÀ-ÿ'&<>" ]{1,40}[a-z]$/), (text) => {
        expect(lastName(escaped(text))).toBe(text);
      }),
    );
  });
});
