import { describe, expect, test } from 'vitest';
import { checkCrm } from '../../src/settings/crm-checks.ts';
import { CRM_SOURCES } from '../../src/settings/crm-schema.ts';
import { FilePart } from '../../src/settings/describe-issue.ts';
import { faultsOf, tenantWith, tenantWithPart } from './crm-file.ts';

/** The only fault of a part, as `where: message → remedy`. */
function onlyFault(lines: string): string {
  const [fault, ...others] = faultsOf(tenantWithPart(lines));
  expect(others).toEqual([]);
  return `${fault?.path.replace('targets.people.crm.', '')}: ${fault?.message} → ${fault?.remedy}`;
}

describe('the fields of a mapping', () => {
  test.each([
    ['lastnam', 'mapping.p: the stream patients has no field "lastnam" → did you mean lastName?'],
    ['lastVisitOn', 'did you mean derived.lastVisitOn?'],
    ['derived.lastVisit', 'did you mean derived.lastVisitAt? use one of: firstName, lastName,'],
    ['notes', 'mapping.p: the stream patients has no field "notes"'],
    ['id', 'mapping.p: the stream patients has no field "id"'],
    ['constructor', 'mapping.p: the stream patients has no field "constructor"'],
    ['consents.', 'mapping.p: the stream patients has no field "consents."'],
    ['consents.marketting', 'mapping.p: consent "marketting" does not exist → did you mean marketing?'],
  ])('%s is refused', (path, fault) => {
    expect(onlyFault(`mapping: { p: ${path} }`)).toContain(fault);
  });

  test('a consent of the profile is a field, and any is while the profile is unknown', () => {
    expect(faultsOf(tenantWithPart('mapping: { p: consents.marketing }'))).toEqual([]);
    const file = tenantWithPart('mapping: { p: consents.letters }\nconsents: [letters]');
    const found = checkCrm(new FilePart(file, ['targets', 'people']), { consents: () => null });
    expect([...found].filter((fault) => fault !== undefined)).toEqual([]);
  });

  test('a requested consent must be fetched', () => {
    expect(onlyFault('mapping: { p: email }\nconsents: [privacy, news]')).toContain(
      'consents.1: consent "news" does not exist',
    );
  });

  test('two properties that differ only in upper and lower case are refused', () => {
    expect(onlyFault('mapping: { Email: email, EMAIL: email }')).toContain('EMAIL: differs from Email');
  });

  test('faults have the right line', () => {
    const file = tenantWithPart('mapping:\n  a: email\n  b:\n    from: emial');
    expect(faultsOf(file).map(({ line, path }) => [line, path])).toEqual([[10, 'targets.people.crm.mapping.b.from']]);
  });
});

describe('sensitive fields', () => {
  const sensitive = Object.entries(CRM_SOURCES.patients).flatMap(([path, one]) => (one.sensitive ? [path] : []));

  test.each(sensitive)('%s is refused without a reason, and goes with one', (path) => {
    expect(onlyFault(`mapping: { p: ${path} }`)).toContain(`the field ${path} is sensitive and requires a reason`);
    expect(faultsOf(tenantWithPart(`mapping: { p: ${path} }\nsensitive: { ${path}: decided by R. }`))).toEqual([]);
  });

  test('the year of birth is as sensitive as its date', () => {
    expect(onlyFault('mapping: { p: { from: birthDate, transforms: [year] } }')).toContain('birthDate is sensitive');
  });

  test.each([
    '{ template: "{lastName} {taxCode}" }',
    '{ first: [email, taxCode] }',
    '{ value: x, when: { field: taxCode, empty: false } }',
    '{ from: taxCode }',
  ])('%s needs the allowance, and uses it', (rule) => {
    expect(onlyFault(`mapping: { p: ${rule} }`)).toContain('the field taxCode is sensitive');
    expect(faultsOf(tenantWithPart(`mapping: { p: ${rule} }\nsensitive: { taxCode: decided by R. }`))).toEqual([]);
  });

  test('an allowance that nothing uses is a fault, and so is one of a field that needs none', () => {
    expect(onlyFault('mapping: { p: email }\nsensitive: { taxCode: asked by R. }')).toContain(
      'sensitive.taxCode: no rule of the mapping uses this field',
    );
    expect(onlyFault('mapping: { p: email }\nsensitive: { email: asked by R. }')).toContain(
      'no sensitive field "email"',
    );
    expect(onlyFault('mapping: { p: taxCode }\nsensitive: { taxCode: R., taxcode: R. }')).toContain(
      'did you mean taxCode?',
    );
  });

  test('no stream has a field for notes, diagnoses, texts of lines or ids', () => {
    const paths = Object.values(CRM_SOURCES).flatMap((sources) => Object.keys(sources));
    expect(
      paths.filter((path) => /note|diagnos|line|reason|report|therap/i.test(path) || /\bid$|Id$/.test(path)),
    ).toEqual([]);
  });
});

describe('transforms', () => {
  test.each([
    [
      '{ from: derived.visits, transforms: [lower] }',
      'the transform lower cannot be applied to a value of type number',
    ],
    ['{ from: updatedAt, transforms: [date, year] }', undefined],
    ['{ from: updatedAt, transforms: [year, date] }', 'date cannot be applied to a value of type number'],
    ['{ from: lastName, transforms: [year] }', 'suitable transforms: e164, lower, upper, title-case, first-line'],
    ['{ from: isActive, transforms: [upper] }', 'remove this setting'],
  ])('of %s', (rule, fault) => {
    const lines = `mapping: { p: ${rule} }`;
    if (fault === undefined) expect(faultsOf(tenantWithPart(lines))).toEqual([]);
    else expect(onlyFault(lines)).toContain(fault);
  });

  test.each([
    ['{ first: [derived.visits, derived.noShows], transforms: [upper] }', 'of type number'],
    ['{ template: "{derived.visits}", transforms: [year] }', 'of type text'],
  ])('of %s fit the kind of its value', (rule, fault) => {
    expect(onlyFault(`mapping: { p: ${rule} }`)).toContain(fault);
  });
});

describe('a rule', () => {
  test.each([
    ['{ template: "{nome}" }', 'no field "nome"'],
    ['{ first: [email, nome] }', 'no field "nome"'],
    ['{ value: x, when: { field: nome, empty: true } }', 'no field "nome"'],
    ['{ first: [email, derived.visits] }', 'several types: text, number'],
    ['{ value: x, when: { field: derived.visits, equals: "3" } }', 'never equals a field of type number'],
    ['{ value: x, when: { field: isActive, in: [true, yes] } }', 'never equals a field of type boolean'],
    ['{ from: derived.visits, otherwise: none }', 'write a value of type number'],
    ['{ from: language, values: { it: 1 }, otherwise: x }', 'write a value of type number'],
    ['{ from: updatedAt, transforms: [year], otherwise: x }', 'write a value of type number'],
    ['{ value: x, when: { field: email, empty: true }, otherwise: 1 }', 'write a value of type string'],
  ])('%s: %s', (rule, fault) => {
    expect(onlyFault(`mapping: { p: ${rule} }`)).toContain(fault);
  });

  test('with a former expression names what replaces it', () => {
    const faults = faultsOf(tenantWithPart('mapping: { p: { expression: "lastName & geheim" } }'));
    expect(faults.map(({ remedy }) => remedy)).toContainEqual(expect.stringContaining('use template, first, values'));
    expect(JSON.stringify(faults)).not.toContain('geheim');
  });
});

describe('the target with the contacts', () => {
  const people = '  people: { connector: hubspot, connection: crm, crm: { mapping: { a: email } } }\n';
  const visits = (rest: string) =>
    `  visits:\n    connector: hubspot\n    connection: crm\n    crm: { stream: appointments, mapping: { a: startAt }${rest} }\n`;
  const faults = (targets: string) =>
    faultsOf(tenantWith(targets), 'visits').map(({ message, remedy }) => `${message} → ${remedy}`);

  test('is referenced by appointments', () => {
    expect(faults(people + visits(', contacts: people'))).toEqual([]);
    expect(faults(people + visits(''))).toEqual([expect.stringContaining('use one of: people')]);
  });

  test('must hold patients', () => {
    expect(faults(people + visits(', contacts: poeple'))).toEqual([expect.stringContaining('did you mean people?')]);
    expect(faults(visits(', contacts: visits'))).toEqual([expect.stringContaining('add a target with crm.stream')]);
  });

  test('must be in the same place', () => {
    const elsewhere = people.replace('connection: crm,', 'connection: other,');
    expect(faults(elsewhere + visits(', contacts: people'))).toEqual([
      expect.stringContaining('another CRM or account'),
    ]);
  });

  test('is not named by patients', () => {
    expect(onlyFault('mapping: { p: email }\ncontacts: people')).toContain(
      'contacts is not allowed for patients, which are contacts',
    );
  });
});

test('a period longer than the history is a fault', () => {
  expect(onlyFault('mapping: { p: email }\nderived: { historyDays: 400 }')).toContain(
    'derived.lapsedAfterDays: is longer',
  );
  expect(onlyFault('mapping: { p: email }\nderived: { periodDays: 2000 }')).toContain('derived.periodDays: is longer');
});

test('a target without a part for a CRM has no faults here', () => {
  const file = tenantWith('  people: { connector: calendar }\n');
  expect([...checkCrm(new FilePart(file, ['targets', 'people']), { consents: () => [] })]).toEqual([]);
});

test('the fields of templates that are too long together are not compared with all known fields', () => {
  const fields = Array.from({ length: 5_000 }, (_, at) => `{f${at}}`).join('');
  const file = tenantWithPart(`mapping: { a: { template: "${fields}" } }`);
  const found = checkCrm(new FilePart(file, ['targets', 'people']), { consents: () => null });
  expect([...found].filter((fault) => fault !== undefined)).toEqual([]);
});
