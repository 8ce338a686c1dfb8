import { expect } from 'vitest';
import type { PropertyValue } from '../../../src/core/model/items.ts';
import { type ContractCase, group } from '../contract-case.ts';
import { describeOutcome, failure, keyOf, updateOperation, written } from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';
import type { CrmRole, CrmValues } from '../crm-target.ts';

const LONG = Array.from('ä🙂 word '.repeat(1_200)).slice(0, 10_000).join('').trim();

const TEXTS: Readonly<Record<string, string>> = {
  'emoji and joined emoji': 'Check-up 🦷 👩🏽‍⚕️ 👨‍👩‍👧',
  'text from right to left': 'موعد عند الطبيب / פגישה אצל הרופא',
  'characters of four bytes': '𝒜𝓅𝓅𝑜𝒾𝓃𝓉𝓂𝑒𝓃𝓉 𠜎𠜱𡿺',
  'accents, composed and decomposed': 'Müller / Mu\u0308ller à è ì ò ù',
  'HTML and script': '<script>alert(1)</script> <b>bold</b> & &amp; &lt;i&gt; "quoted" \'single\'',
  'what looks like a query, a path or JSON': `O'Brien" OR 1=1 -- %27 \\' {"id":"1"} ../../x?y=#z`,
  'what looks like a template': '{{key}} #{id} %s {0} $1 <%= 1 %>',
};

/** What a spreadsheet would take for a formula; whether to defuse it was decided before, in the mapping. */
const FORMULAS = ['=1+1', '+390551234567', '-2', '@SUM(A1)', "'=HYPERLINK(A1)", '=cmd|x!A1'];

const NUMBERS = [0, -1, 12.5, 1_234_567.25, 0.01];
const DATES = ['2028-02-29', '1931-05-01', '2027-03-28', '2027-10-31', '2099-12-31'];
const INSTANTS = [
  '2027-03-28T01:00:00.000Z',
  '2027-10-31T00:30:00.000Z',
  '2027-10-31T01:30:00.000Z',
  '1999-12-31T23:59:59.000Z',
];

/** Values arrive as sent, or the outcome reports the stored values. Values read back have the fingerprint of the stored ones. */
export const crmData = group<CrmKit>('values', {
  ...Object.fromEntries(
    Object.entries(TEXTS).map(([name, text]) => [
      `${name} arrive unchanged`,
      arrives({ title: Array.from(text).slice(0, 60).join('').trim(), note: text }),
    ]),
  ),
  'formulas arrive unchanged': async (kit) => {
    const operations = FORMULAS.map((text, index) => kit.toCreate(`r${index}`, kit.row({ title: text, note: text })));
    const outcomes = await kit.attempt(operations);
    for (const [index, operation] of operations.entries()) {
      const { values } = await kit.expectKept(operation, outcomes[index]);
      expect(values).toMatchObject({ title: FORMULAS[index], note: FORMULAS[index] });
    }
  },
  'line breaks arrive, or the outcome reports the stored text': async (kit) => {
    const text = 'one\ntwo\r\n\nthree\tfour';
    const { values } = await kit.expectKept(kit.toCreate('a', kit.row({ note: text })));
    expect(String(values.note).replace(/\s+/g, ' ')).toBe('one two three four');
  },
  'spaces around a text and within it arrive, or the outcome reports the stored text': async (kit) => {
    const { values } = await kit.expectKept(kit.toCreate('a', kit.row({ title: '  De  Luca ', note: ' x ' })));
    expect(values.title).toMatch(/^\s*De\s+Luca\s*$/);
  },
  'ten thousand characters are stored whole, or refused by naming the property': async (kit) => {
    const operation = kit.toCreate('a', kit.row({ note: LONG }));
    const [outcome] = await kit.attempt([operation, kit.toCreate('b')]);
    if (outcome?.result === 'failed') {
      const { actor, retry, message, remedy } = failure(outcome);
      expect(['contract', 'settings']).toContain(actor);
      expect(retry).toBe('never');
      expect(`${message} ${remedy}`).toContain(kit.target.names.note);
    } else {
      expect((await kit.expectKept(operation, outcome)).values.note).toBe(LONG);
    }
    expect((await kit.object('b')).title).toBe('Appointment');
  },
  'an empty text and an absent value are the same': async (kit) => {
    await kit.deliver([kit.toCreate('a', kit.row({ note: '', email: '', phone: null }))]);
    expect((await kit.object('a')).values).toMatchObject({ note: null, email: null, phone: null });
    expect((await kit.readAll())[0]?.item).toEqual(kit.row({ note: null, email: null, phone: null }));
  },
  'values that went away are cleared, and the others stay': async (kit) => {
    await kit.attempt([kit.toCreate('a', kit.row({ note: 'Bring the card', phone: '+390551234567' }))]);
    const { required } = kit.target;
    const roles = (['note', 'phone', 'number', 'date', 'instant'] as const).filter((role) => !required.includes(role));
    const nothing = Object.fromEntries(roles.map((role) => [role, null]));
    const { values } = await kit.expectKept(updateOperation('a', kit.row(nothing), null));
    expect(values).toMatchObject({ ...nothing, title: 'Appointment', boolean: true });
  },
  'numbers read back unchanged': each('number', NUMBERS),
  'yes and no read back unchanged': each('boolean', [true, false]),
  'dates read back unchanged, in any zone': each('date', DATES),
  'instants read back unchanged': each('instant', INSTANTS),
  'texts that look like numbers, dates and yes or no stay texts': each('title', [
    '007',
    '1e3',
    'true',
    '2027-03-10',
    'null',
  ]),
  'a user’s value in a property of another kind is shown, or the object cannot be read': async (kit) => {
    await kit.create('a');
    await kit.target.server.editByHand((await kit.object('a')).remoteId, { title: '12' });
    const [read] = await kit.readAll();
    expect(read).toMatchObject({ key: keyOf('a'), item: kit.item('12') });
  },
  'the stored content in the answer to a write equals the content read': async (kit) => {
    const [created] = await kit.attempt([
      kit.toCreate('a', kit.row({ email: 'Anna@Clinic.Example', note: ' two\r\n ' })),
    ]);
    const { stored, versionTag, remoteId } = written(created);
    const [read] = await kit.readAll();
    if (stored !== undefined) expect(stored).toEqual(read?.item);
    if (read!.item !== null && stored === undefined)
      expect(read!.item).toEqual(kit.row({ email: 'Anna@Clinic.Example', note: ' two\r\n ' }));
    const { values } = await kit.expectKept(updateOperation('a', kit.item('Changed'), versionTag, remoteId));
    expect(values).toMatchObject({ title: 'Changed', email: null, note: null });
  },
});

function arrives(values: Partial<CrmValues>): ContractCase<CrmKit>['run'] {
  return async (kit) => {
    const operation = kit.toCreate('a', kit.row(values));
    expect((await kit.expectKept(operation)).values).toMatchObject(values);
    const [again] = await kit.attempt([operation]);
    expect(describeOutcome(again)).toBe('written adopted');
    expect((await kit.expectKept(operation, again)).values).toMatchObject(values);
  };
}

/** One object for each value of a property; all are written together. */
function each(role: CrmRole, choices: readonly PropertyValue[]): ContractCase<CrmKit>['run'] {
  return async (kit) => {
    const operations = choices.map((value, index) => kit.toCreate(`r${index}`, kit.row({ [role]: value })));
    const outcomes = await kit.attempt(operations);
    for (const [index, operation] of operations.entries()) {
      expect((await kit.expectKept(operation, outcomes[index])).values[role]).toBe(choices[index]);
    }
  };
}
