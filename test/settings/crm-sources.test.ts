import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { TRANSFORMS } from '../../src/settings/crm-schema.ts';
import { CRM_SOURCES, CRM_TRANSFORMS, type CrmStream, kindAfter } from '../../src/settings/crm-sources.ts';
import { faultsOf, tenantWith } from './crm-file.ts';

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
  test.each(Object.keys(CRM_SOURCES) as CrmStream[])('lists the fields of %s as they are', (stream) => {
    const [, table] = document.match(new RegExp(`<!-- fields: ${stream} -->\\n([\\s\\S]*?)\\n<!-- end -->`)) ?? [];
    expect(table?.trim()).toBe(tableOf(stream));
  });

  test.each(TRANSFORMS)('tells of the transform %s', (transform) => {
    expect(document).toContain(`\`${transform}\``);
  });
});

test('the example of docs/crm-mapping.md is without faults', () => {
  const [, example = ''] = document.match(/```yaml\ntargets:\n([\s\S]*?)```/) ?? [];
  expect(faultsOf(tenantWith(example), 'contacts')).toEqual([]);
});

test('a kind goes through transforms one after the other', () => {
  expect(kindAfter('instant', ['date', 'year'])).toEqual({ kind: 'number' });
  expect(kindAfter('text', [])).toEqual({ kind: 'text' });
  expect(kindAfter('text', ['lower', 'date'])).toEqual({ misfit: 'date', given: 'text' });
  for (const transform of TRANSFORMS) {
    const { takes, gives } = CRM_TRANSFORMS[transform];
    for (const kind of takes) expect(kindAfter(kind, [transform])).toEqual({ kind: gives });
  }
});
