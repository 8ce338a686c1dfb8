import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { valueAt } from '../../../src/clinic/http/rows.ts';
import { compilePatientRows } from '../../../src/clinic/read/catalogue-rows.ts';
import { parsePath, setAtPath } from '../../../src/clinic/schema/paths.ts';
import { profileOf } from '../open-client.ts';

const ROW = {
  phones: ['333 1', '333 2'],
  Mail: [{ address: '' }, { address: 'a@b.it' }],
  telecom: [
    { system: 'email', value: 'x@y.it' },
    { system: 'phone', value: '06 1' },
    { system: 'phone', value: '06 2' },
  ],
  one: { address: 'alone' },
  keys: { '0': 'by name' },
};

describe('a path', () => {
  it.each([
    ['phones.0', '333 1'],
    ['phones.1', '333 2'],
    ['phones.9', undefined],
    ['phones[]', '333 1'],
    ['Mail[].address', 'a@b.it'],
    ['Mail.0.address', ''],
    ['telecom[system=phone].value', '06 1'],
    ['telecom[system=fax].value', undefined],
    ['one[].address', 'alone'],
    ['keys.0', 'by name'],
    ['phones.length', undefined],
  ])('%s leads to %j', (path, value) => expect(valueAt(ROW, path)).toBe(value));

  it('is refused by the profile if it is invalid', () => {
    for (const phone of ['phones[', 'phones[a]', 'phones]', 'a..b', '[]', 'a[=b]']) {
      expect(() => profileOf({ patients: { fields: { phone: [phone] } } })).toThrow(/profile\.path/);
    }
  });

  it.each<[string, object, object]>([
    [
      'telecom[system=phone].value',
      { telecom: { system: 'email', value: 'a@b.it' } },
      {
        telecom: [
          { system: 'email', value: 'a@b.it' },
          { system: 'phone', value: 'new' },
        ],
      },
    ],
    [
      'telecom[system=phone].value',
      { telecom: { system: 'phone', value: 'old' } },
      { telecom: { system: 'phone', value: 'new' } },
    ],
    [
      'contacts[].number',
      { contacts: [{ address: 'a@b.it' }, { number: 'old' }] },
      { contacts: [{ address: 'a@b.it' }, { number: 'new' }] },
    ],
    ['phones[]', { phones: { number: 'old' } }, { phones: ['new'] }],
  ])('%s changes in %j only what it reads', (path, row, changed) => {
    const target = structuredClone(row) as Record<string, unknown>;
    setAtPath(target, parsePath(path), 'new');
    expect(target).toEqual(changed);
    expect(valueAt(target, path)).toBe('new');
  });

  it('finds the value set at it, regardless of the previous content', () => {
    const step = fc.constantFrom('a', 'b', 'l.0', 'c[]', 'd[k=v]');
    const path = fc.array(step, { minLength: 1, maxLength: 4 }).map((steps) => [...steps, 'end'].join('.'));
    fc.assert(
      fc.property(path, path, (one, other) => {
        const target = {};
        setAtPath(target, parsePath(one), 1);
        setAtPath(target, parsePath(other), 2);
        expect(valueAt(target, other)).toBe(2);
      }),
    );
  });
});

describe('a patient with lists in the row', () => {
  it('is read with the contacts that the paths name', () => {
    const fields = { mobilePhone: ['phones.0'], email: ['Mail[].address'], phone: ['telecom[system=phone].value'] };
    const mapped = compilePatientRows(profileOf({ patients: { fields } }))({ id: 'p', ...ROW });
    expect(mapped).toMatchObject({ record: { mobilePhone: '333 1', email: 'a@b.it', phone: '06 1' } });
  });
});
