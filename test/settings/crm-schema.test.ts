import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  CRM_SOURCES,
  CRM_TRANSFORMS,
  type CrmStream,
  crmSchema,
  kindAfter,
  TRANSFORMS,
} from '../../src/settings/crm-schema.ts';
import { crmOf, faultsOf, tenantWith, tenantWithPart } from './crm-file.ts';

describe('the section for a CRM', () => {
  test('accepts only the name of a field as a rule', () => {
    const crm = crmOf('mapping: { firstname: firstName, phone: { from: phone, transforms: [e164] } }');
    expect(crm.mapping.get('firstname')).toEqual({ from: 'firstName', transforms: [] });
    expect(crm.mapping.get('phone')).toEqual({ from: 'phone', transforms: ['e164'] });
  });

  test('has defaults that allow no field and remove patients without consent', () => {
    const crm = crmOf('mapping: { firstname: firstName }');
    expect(crm).toMatchObject({ stream: 'patients', withdrawn: 'remove', region: 'IT' });
    expect(crm.sensitive.size).toBe(0);
    expect(crm.derived).toEqual({ historyDays: 1_096, periodDays: 365, lapsedAfterDays: 548 });
  });

  test.each([
    ['two origins of one value', '{ from: firstName, value: x }', 'set exactly one of from, first, template and value'],
    ['none', '{ transforms: [lower] }', 'set exactly one of from, first, template and value'],
    ['a template without a field', '{ template: Dear }', 'write fields in braces'],
    ['an open bracket', '{ template: "[{firstName}" }', 'write fields in braces'],
    ['a single field where several are meant', '{ first: [phone] }', ''],
    ['two conditions', '{ value: x, when: { field: email, empty: true, equals: y } }', 'exactly one of equals'],
    ['transforms of a constant', '{ value: X, transforms: [lower] }', 'without transforms'],
    ['values together with a constant', '{ value: X, values: { a: b } }', 'without transforms and values'],
    ['values of two types', '{ from: language, values: { it: 1, en: English } }', 'use values of one type only'],
    ['a number as a rule', '5', 'put the value in quotes to make it a string'],
    ['a list as a rule', '[firstName]', 'set a string'],
    ['an empty rule', '""', 'enter a text'],
    ['an unknown key', '{ from: firstName, transform: [lower] }', 'did you mean transforms?'],
    ['an unknown transform', '{ from: firstName, transforms: [titlecase] }', 'did you mean title-case?'],
    ['a constant that is a list', '{ value: [1] }', 'set a string, a number, true or false'],
  ])('%s is a fault at the rule, with a remedy', (_, rule, remedy) => {
    const [fault, ...others] = faultsOf(tenantWithPart(`mapping:\n  firstname: ${rule}`));
    expect(others).toEqual([]);
    expect(fault?.path).toMatch(/^targets\.people\.crm\.mapping\.firstname/);
    expect(fault?.line).toBe(8);
    expect(fault?.remedy).toContain(remedy);
  });

  test.each([
    ["a property's label", 'mapping: { "First name": firstName }', 'not the label'],
    ['a mapping of nothing', 'mapping: {}', 'add at least one property'],
    ['an allowance without a reason', 'mapping: { a: taxCode }\nsensitive: { taxCode: "" }', 'enter a text'],
    ['a region that is no country', 'mapping: { a: phone }\nregion: Italy', 'a country code of two letters'],
  ])('%s is a fault', (_, lines, remedy) => {
    expect(faultsOf(tenantWithPart(lines)).map((fault) => fault.remedy)).toEqual([expect.stringContaining(remedy)]);
  });

  test('has at most 20,000 characters in all templates, counted before they are parsed', () => {
    const mapping = (templates: number, more: string) => {
      const rules = Array.from(
        { length: templates },
        (_, at) => `  p${at}: { template: "{firstName}${'x'.repeat(989)}" }\n`,
      );
      return tenantWithPart(`mapping:\n${rules.join('')}  q: { template: "${more}" }`);
    };
    expect(faultsOf(mapping(19, `{email}${'x'.repeat(993)}`))).toEqual([]);
    // A malformed template behind the limit is not read.
    expect(faultsOf(mapping(20, '['))).toEqual([
      expect.objectContaining({
        path: 'targets.people.crm.mapping',
        line: 7,
        remedy: expect.stringMatching(/at most 20000 characters in all templates.*"clinic-mirror config check"/),
      }),
    ]);
  });

  test('is described to editors: a rule is a text or a mapping with known keys', () => {
    const jsonSchema: unknown = z.toJSONSchema(crmSchema, { target: 'draft-7', io: 'input', unrepresentable: 'any' });
    expect(jsonSchema).toMatchObject({
      required: ['mapping'],
      properties: {
        mapping: {
          additionalProperties: {
            anyOf: [
              { type: 'string', minLength: 1 },
              {
                type: 'object',
                additionalProperties: false,
                properties: { transforms: { items: { enum: TRANSFORMS } }, from: { type: 'string' } },
              },
            ],
          },
        },
      },
    });
  });
});

const document = readFileSync(join(import.meta.dirname, '../../docs/crm-mapping.md'), 'utf8');

/** The table of a stream's fields, as docs/crm-mapping.md has it. */
function tableOf(stream: CrmStream): string {
  const rows = Object.entries(CRM_SOURCES[stream]).map(
    ([path, { kind, sensitive, describe: text }]) => `| \`${path}\` | ${kind} | ${sensitive ? 'yes' : ''} | ${text} |`,
  );
  const consents = [
    "| `consents.<name>` | boolean |  | What the patient agreed to, by the clinic profile's `patients.consents` |",
  ];
  const all = stream === 'patients' ? [...rows, ...consents] : rows;
  return ['| field | kind | sensitive | what |', '|---|---|---|---|', ...all].join('\n');
}

describe('docs/crm-mapping.md', () => {
  test.each(Object.keys(CRM_SOURCES) as CrmStream[])('lists the fields of %s completely', (stream) => {
    const [, table] =
      document.match(new RegExp(`<!-- reference: fields-${stream} -->\\n([\\s\\S]*?)\\n<!-- end -->`)) ?? [];
    expect(table?.trim()).toBe(tableOf(stream));
  });

  test.each(TRANSFORMS)('describes the transform %s', (transform) => {
    expect(document).toContain(`\`${transform}\``);
  });
});

test('the example of docs/crm-mapping.md is without faults', () => {
  const [, example = ''] = document.match(/```yaml\ntargets:\n([\s\S]*?)```/) ?? [];
  expect(faultsOf(tenantWith(example), 'contacts')).toEqual([]);
});

test('each rule that replaces a former expression is without faults', () => {
  const rows = [...document.matchAll(/^\| `[^|]+` \| (.*`\{ .* \}`) \|$/gm)];
  const rules = rows.flatMap(([, cell = '']) => [...cell.matchAll(/`(\{ .*? \})`/g)].map(([, rule = '']) => rule));
  expect(rules.length).toBeGreaterThanOrEqual(10);
  for (const rule of rules) {
    const isVisit = /field: status|from: location/.test(rule);
    const stream = isVisit ? 'stream: appointments\ncontacts: people\n' : '';
    const sensitive = rule.includes('gender') ? '\nsensitive: { gender: decided by R. }' : '';
    const faults = faultsOf(tenantWithPart(`${stream}mapping: { p: ${rule} }${sensitive}`));
    expect(faults.filter(({ path }) => !path?.endsWith('contacts'))).toEqual([]);
  }
});

test('a kind goes through transforms one after the other', () => {
  expect(kindAfter('instant', ['date', 'year'])).toEqual({ kind: 'number' });
  expect(kindAfter('text', [])).toEqual({ kind: 'text' });
  expect(kindAfter('text', ['lower', 'date'])).toEqual({ misfit: 'date', actual: 'text' });
  for (const transform of TRANSFORMS) {
    const { takes, gives } = CRM_TRANSFORMS[transform];
    for (const kind of takes) expect(kindAfter(kind, [transform])).toEqual({ kind: gives });
  }
});
