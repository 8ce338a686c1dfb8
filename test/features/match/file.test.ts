import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromCsv, toCsv } from '../../../src/core/model/csv.ts';
import { CALENDAR_FORM } from '../../../src/domain/item-forms.ts';
import { createTargetIdentity } from '../../../src/engine/identity.ts';
import { fromMatchFile, toMatchFile } from '../../../src/features/match/file.ts';
import type { MatchRow, Pair } from '../../../src/operator/control/matching.ts';

const KEY = Buffer.alloc(32, 7);
const identity = createTargetIdentity(KEY, 'studio-rossi', 'contacts', CALENDAR_FORM);
const nobody = { name: 'Anna Verdi', birthDate: null, addresses: [], phones: [] };

function rowOf(recordId: string, remoteId: string, changes: Partial<MatchRow> = {}): MatchRow {
  const pair: Pair = { recordId, remoteId, patientSeen: 'p', contactSeen: 'c' };
  const people = { patient: nobody, contact: nobody, contacts: 1, patients: 1 };
  return { pair, ...people, same: ['email'], differs: [], changes: [], clears: [], page: null, ...changes };
}

/** The file with these words in the column `decision`, line by line. */
function decided(rows: readonly MatchRow[], words: readonly string[]): string {
  const [headings = [], ...lines] = fromCsv(toMatchFile(rows, identity));
  return toCsv([headings, ...lines.map((line, at) => line.with(headings.indexOf('decision'), words[at] ?? ''))]);
}

/** Why a file is refused. */
function refusal(text: string): { code: string; message: string } {
  try {
    fromMatchFile(text, identity);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error('the file was taken');
}

describe('a match file', () => {
  test('returns only the pairs whose line says adopt, with its line', () => {
    const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 8 });
    const words = fc.array(fc.constantFrom('adopt', ' ADOPT ', '', 'leave', 'Leave'), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(ids, words, (recordIds, said) => {
        const rows = recordIds.map((id) => rowOf(id, `contact of ${id}`));
        const expected = rows.flatMap(({ pair }, at) =>
          said[at]?.trim().toLowerCase() === 'adopt' ? [{ ...pair, line: at + 2 }] : [],
        );
        expect(fromMatchFile(decided(rows, said), identity)).toEqual(expected);
      }),
    );
  });

  test.each([',', ';', '\t'])('has no formula in any column for a spreadsheet with the separator %j', (separator) => {
    // Invisible characters, line breaks and separators before a formula, as a patient or a contact may be named.
    const starts = [
      '',
      '\u200b',
      '\u202e',
      '\ufeff',
      ' \u00a0',
      '\u009b',
      '"',
      'Anna;',
      'Anna,',
      'Anna\t',
      'Anna\r\n',
      '; ',
    ];
    const hostile = fc
      .tuple(
        fc.constantFrom(...starts),
        fc.constantFrom(...'=+-@＝＋－＠'),
        fc.constantFrom('cmd|x!A1', '1+1', 'SUM(A1)'),
      )
      .map((parts) => parts.join(''));
    const isFormula = (cell: string) => /^[=+\-@＝＋－＠]/.test(cell);
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 12, maxLength: 12 }), (texts) => {
        const [a = '', b = '', c = '', d = '', e = '', f = '', g = '', h = '', i = '', j = '', k = '', l = ''] = texts;
        const row = rowOf('1', 'a', {
          ...{ same: [a], differs: [b], changes: [c], clears: [d], page: e },
          patient: { name: f, birthDate: g, addresses: [h], phones: [i] },
          contact: { name: j, birthDate: k, addresses: [l], phones: [a] },
        } as object);
        const file = toMatchFile([row], identity);
        // Quotes delimit cells only at their begin; a spreadsheet trims cells.
        const cells = file
          .slice(1)
          .split(/[\r\n]/)
          .flatMap((line) => line.split(separator).map((cell) => cell.replace(/^\s*"?\s*/, '')));
        expect(cells.filter(isFormula)).toEqual([]);
        const [headings = [], read = []] = fromCsv(file);
        const reached = headings.filter((_, at) => /[=+\-@＝＋－＠]/.test((read[at] ?? '').replace(/^pair\..*/, '')));
        expect(reached).toEqual(headings.filter((name) => !['decision', 'ambiguous', 'pair'].includes(name)));
      }),
    );
  });

  test('names where one of several contacts, or patients, has to be chosen', () => {
    const [headings = [], ...lines] = fromCsv(
      toMatchFile([rowOf('1', 'a'), rowOf('2', 'b', { contacts: 2, patients: 3 })], identity),
    );
    expect(lines.map((line) => line[headings.indexOf('ambiguous')])).toEqual([
      '',
      '2 contacts for this patient; 3 patients for this contact',
    ]);
  });
});

describe('match-file-unusable: nothing in a file is applied', () => {
  const rows = [rowOf('1', 'a'), rowOf('2', 'b'), rowOf('1', 'c')];

  test('without the column of decisions or of pairs', () => {
    expect(refusal('decision,name\r\nadopt,Anna')).toMatchObject({ code: 'match-file-unusable', actor: 'settings' });
    expect(refusal('')).toMatchObject({ code: 'match-file-unusable' });
  });

  test('with a decision other than adopt and leave; its lines are listed', () => {
    expect(refusal(decided(rows, ['adopt', 'yes', 'si']))).toMatchObject({
      code: 'match-file-unusable',
      message: expect.stringMatching(/3, 4/),
    });
  });

  test('with many such lines names ten of them and counts the others', () => {
    const many = Array.from({ length: 12 }, (_, at) => rowOf(`${at}`, `c${at}`));
    const { message } = refusal(decided(many, Array(12).fill('yes')));
    expect(message).toMatch(/2, 3, 4, 5, 6, 7, 8, 9, 10, 11\D+2 /);
  });

  test('with an approved pair that was changed, or that is another target’s', () => {
    const other = createTargetIdentity(KEY, 'studio-rossi', 'leads', CALENDAR_FORM);
    const foreign = toMatchFile([rowOf('1', 'a')], other).replace(/^(?=,)/m, 'adopt');
    expect(refusal(foreign)).toMatchObject({ code: 'match-file-unusable', message: expect.stringContaining('2') });
    const own = decided([rowOf('1', 'a')], ['adopt']);
    expect(refusal(own.replace('pair.', ''))).toMatchObject({ code: 'match-file-unusable' });
    expect(fromMatchFile(own, identity)).toHaveLength(1);
  });

  test('with a patient or a contact that is approved twice', () => {
    expect(refusal(decided(rows, ['adopt', 'adopt', 'adopt'])).message).toMatch(/2, 4/);
    const sharing = [rowOf('1', 'a'), rowOf('2', 'a')];
    expect(refusal(decided(sharing, ['adopt', 'adopt'])).message).toMatch(/2, 3/);
    expect(fromMatchFile(decided(sharing, ['adopt', 'leave']), identity)).toMatchObject([{ recordId: '1' }]);
  });
});
