import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  compileAll,
  ITSELF,
  leadsIn,
  listRoute,
  parsePath,
  recordsAt,
  setAtPath,
  valueAt,
} from '../../src/described-api/paths.ts';

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
  people: [
    { who: { ref: 'Doctor/7', type: 'Doctor', name: 'Ada' }, codes: [{ code: 'A' }, { code: 'B' }] },
    { who: { ref: 'https://clinic.example/Patient/17/history/2', type: 'Patient', name: 'Bea' }, use: 'home' },
    { who: { ref: 'Patient/18', type: 'Patient', name: 'Cleo' }, use: 'work' },
  ],
  links: { patient: { href: '/api/patients/a%20b?x=1' }, all: ['Room/1', 'Patient/2', 'Patient/3'] },
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
    ['people[who.type=Patient].who.name', 'Bea'],
    ['people[who.type=Patient][use=work].who.name', 'Cleo'],
    ['people[use=work][who.type=Doctor].who.name', undefined],
    ['people[who.ref^=Patient/].who.name', 'Cleo'],
    ['people[who.ref*=Patient/].who.name', 'Bea'],
    ['people[codes.code=B].who.name', 'Ada'],
    ['people[].who.ref{Patient/}', '17'],
    ['people[use=work].who.ref{Patient/}', '18'],
    ['people[].who.ref{atient/}', undefined],
    ['people.0.who.ref{Patient/}', undefined],
    ['links.patient.href{/patients/}', 'a%20b'],
    ['links.all{Patient/}', ['2', '3']],
    ['links.all[]{Patient/}', '2'],
    ['links{Patient/}', undefined],
  ])('%s leads to %j', (path, value) => expect(valueAt(ROW, path)).toEqual(value));

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
    [
      'people[].who.ref{Patient/}',
      { people: [{ who: { ref: 'Doctor/7' } }, { who: { ref: 'Patient/1' } }] },
      { people: [{ who: { ref: 'Doctor/7' } }, { who: { ref: 'Patient/new' } }] },
    ],
    [
      'people[].who.ref{Patient/}',
      { people: [{ who: { ref: 'Doctor/7' } }] },
      { people: [{ who: { ref: 'Doctor/7' } }, { who: { ref: 'Patient/new' } }] },
    ],
    [
      'people[use=work].who.ref{Patient/}',
      { people: [{ use: 'home' }, { use: 'work' }] },
      { people: [{ use: 'home' }, { use: 'work', who: { ref: 'Patient/new' } }] },
    ],
    [
      'people[who.type=Patient][use=work].name',
      { people: [{ who: { type: 'Patient' } }] },
      { people: [{ who: { type: 'Patient' } }, { who: { type: 'Patient' }, use: 'work', name: 'new' }] },
    ],
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

test('every value of a field is found behind a marker, also in several elements', () => {
  expect(compileAll(['people[].who.ref{Patient/}'])(ROW)).toEqual(['17', '18']);
  expect(compileAll(['people[].who.ref{Room/}'])(ROW)).toEqual([]);
});

test('a path with a marker leads in if a text has the marker, or if there is no text', () => {
  const leads = (row: object, path: string) => leadsIn(row, parsePath(path));
  expect(leads(ROW, 'people[].who.ref{Patient/}')).toBe(true);
  expect(leads(ROW, 'people[].who.ref{Room/}')).toBe(false);
  expect(leads({ people: [] }, 'people[].who.ref{Room/}')).toBe(true);
});

describe('the value at a path', () => {
  it('is the whole value at a dot', () => expect(valueAt(ROW, ITSELF)).toBe(ROW));

  it('is in the first element of a list that meets a condition', () => {
    const body = { data: { objects: [{ name: 'company' }, { name: 'person', fields: [1] }] } };
    expect(valueAt(body, 'data.objects[name=person].fields')).toEqual([1]);
    expect(valueAt(body, 'data.objects[name=nobody].fields')).toBeUndefined();
    expect(valueAt(body, 'data.objects[name=company]')).toEqual({ name: 'company' });
  });

  it('is set and read at the given names, and at no member of the language', () => {
    const target: Record<string, unknown> = {};
    setAtPath(target, parsePath('__proto__.polluted'), true);
    setAtPath(target, parsePath('a.b'), 1);
    setAtPath(target, parsePath('a.c'), 2);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(target.a).toEqual({ b: 1, c: 2 });
    expect(valueAt({}, 'constructor.name')).toBeUndefined();
    expect(valueAt('text', 'length')).toBeUndefined();
  });
});

describe('the records of a list', () => {
  const elements = [
    { kind: 'visit', record: 1 },
    { kind: 'note', record: 2 },
  ];

  it.each<[string, unknown[]]>([
    [ITSELF, elements],
    ['data.rows', elements],
    ['rows[].record', [1, 2]],
    ['data.rows[kind=visit].record', [1]],
  ])('at %s are in its elements', (path, records) => expect(recordsAt(path)(elements)).toEqual(records));

  it('are behind the names that lead to the list', () => {
    expect(listRoute('data.rows[kind=visit].record').names).toEqual(['data', 'rows']);
    expect(listRoute(ITSELF).names).toEqual([]);
  });
});
