import { describe, expect, test } from 'vitest';
import type { MappedProperty, PropertyValue } from '../../../src/core/model/items.ts';
import { containerOf } from '../../support/container-of.ts';
import { contact, effectOf, signal } from './harness.ts';
import { openProfile, PROFILE_CASES, type ProfileCase } from './profiles.ts';

const SENTENCE = 'call the daughter’s husband at the bakery, after five';
const LONG_NAME = 'Montefeltro '.repeat(9).trim().slice(0, 104);

/** Text properties of a contact in Twenty and in Dolibarr; Dolibarr requires a last name of at most 50 characters. */
const CRMS = [
  { dialect: 'twenty', first: 'name.firstName', last: 'name.lastName', phone: 'phones.primaryPhoneNumber' },
  { dialect: 'dolibarr', first: 'firstname', last: 'lastname', phone: 'phone_mobile' },
] as const;

function caseOf(dialect: string, more: readonly MappedProperty[] = []): ProfileCase {
  const one = PROFILE_CASES.find((candidate) => candidate.dialect === dialect)!;
  const { first, last } = CRMS.find((crm) => crm.dialect === dialect)!;
  const parts: Readonly<Record<string, Pick<MappedProperty, 'namePart'>>> = {
    [first]: { namePart: 'first' },
    [last]: { namePart: 'last' },
  };
  return {
    ...one,
    properties: [...one.properties.map((property) => ({ ...property, ...parts[property.name] })), ...more],
  };
}

/** Writes contacts in one call, all of which must succeed, and returns the stored contacts in that order. */
async function writeAll(
  { target }: Awaited<ReturnType<typeof openProfile>>,
  { given }: ProfileCase,
  people: readonly Readonly<Record<string, PropertyValue>>[],
) {
  await containerOf(target.connector, null, signal());
  const outcomes = await target.apply(...people.map((person, index) => target.create(`p${index}`, contact(person))));
  expect(outcomes.map(effectOf), given).toEqual(people.map(() => 'created'));
  const read = new Map(
    (await target.readAll()).map(({ sealedRecordId, item }) => [
      target.identity.recordIdOf(sealedRecordId ?? ''),
      item?.properties,
    ]),
  );
  for (const outcome of outcomes) {
    const stored = outcome.result === 'written' ? outcome.stored?.properties : undefined;
    if (stored !== undefined) expect(stored).toEqual(read.get(outcome.recordId));
  }
  return people.map((_, index) => read.get(`p${index}`));
}

describe.each(CRMS)('$dialect', ({ dialect, first, last, phone }) => {
  const one = caseOf(dialect);
  const isStrict = dialect === 'dolibarr';
  const person = { ...one.person, [one.email]: null };

  test.each([
    [
      'an e-mail address with a comma instead of a dot',
      { [one.email]: 'mario.rossi@gmail,com' },
      { [one.email]: null },
    ],
    ['two e-mail addresses in one field', { [one.email]: 'a1@example.org; b1@example.org' }, { [one.email]: null }],
    ['a sentence for a telephone number', { [phone]: SENTENCE }, { [phone]: null }],
    [
      'a last name of 104 characters',
      { [last]: LONG_NAME },
      { [last]: isStrict ? `${LONG_NAME.slice(0, 49).trimEnd()}…` : LONG_NAME },
    ],
    [
      'a first name only',
      { [first]: 'Mario', [last]: null },
      isStrict ? { [first]: null, [last]: 'Mario' } : { [first]: 'Mario', [last]: null },
    ],
  ])('accepts a contact with %s, and the other contacts of the call', async (_, odd, stored) => {
    const opened = await openProfile(one);
    const read = await writeAll(opened, one, [person, { ...person, ...odd }, person]);
    expect(read).toEqual([person, { ...person, ...stored }, person]);
  });
});

describe('a value that is refused in words', () => {
  test.each([
    [
      'twenty',
      'area',
      { options: [{ value: 'NORTH', label: 'North' }] },
      'NORTH',
      'east of "the field "name.lastName"',
    ],
    ['dolibarr', 'fax', { maxLength: 30 }, '06 123', SENTENCE],
  ] as const)(
    'of %s, which name the property, is omitted and retried after a change',
    async (dialect, name, field, good, bad) => {
      const one = caseOf(dialect, [{ name, kind: 'text' }]);
      const opened = await openProfile(one);
      opened.sandbox.addField(one.kind, name, { type: 'text', ...field });
      const person = { ...one.person, [one.email]: null };
      const read = await writeAll(opened, one, [
        { ...person, [name]: good },
        { ...person, [name]: bad },
      ]);
      expect(read).toEqual([
        { ...person, [name]: good },
        { ...person, [name]: null },
      ]);
      const { target } = opened;
      const [found] = await target.find('p1');
      await target.written(target.update('p1', contact({ ...person, [name]: good }), found?.remoteId ?? null));
      expect((await target.find('p1'))[0]?.item?.properties[name]).toBe(good);
    },
  );

  test.each([
    ['twenty', 'area', { options: [] }],
    ['dolibarr', 'fax', { maxLength: 3 }],
  ] as const)(
    'of %s that the mapping itself names fails its record, and is not tried for ever',
    async (dialect, name, field) => {
      const one = caseOf(dialect, [{ name, kind: 'text', words: ['east'] }]);
      const { sandbox, target } = await openProfile(one);
      sandbox.addField(one.kind, name, { type: 'text', ...field });
      const [outcome] = await target.apply(target.create('p1', contact({ ...one.person, [name]: 'east' })));
      expect(outcome).toMatchObject({
        result: 'failed',
        error: { code: 'record-refused', retry: 'never', about: name },
      });
      expect(JSON.stringify(outcome)).not.toContain('Anna');
    },
  );
});
