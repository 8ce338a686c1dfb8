import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { profiles, settingsSchema } from '../../../src/connectors/rest-crm/schemas.ts';
import { render, textOfIssue } from '../../../src/messages/message.ts';
import { checkFile } from '../../../src/settings/describe-issue.ts';
import { renderFaults } from '../../../src/settings/faults.ts';
import { readYaml } from '../../../src/settings/yaml-file.ts';

const BASE = { baseUrl: 'https://crm.example.com/api/v1/' };

/** Path and message of the first fault. */
function faultOf(settings: object): string {
  const [issue] = settingsSchema.safeParse(settings).error?.issues ?? [];
  return issue === undefined ? 'none' : `${issue.path.join('.')}: ${render(textOfIssue(issue.message))}`;
}

/** A profile's contacts with a change. */
function withPatients(change: object) {
  return { ...BASE, profile: 'espocrm', description: { streams: { patients: change } } };
}

describe('the settings of a target', () => {
  test.each(Object.keys(profiles))('accept the unchanged profile %s', (profile) => {
    expect(faultOf({ ...BASE, profile })).toBe('none');
  });

  test('lay a description over a profile: parts go into parts, null takes a part away, a body is replaced whole', () => {
    const body = { '...': '{{properties}}', note: 'from the clinic' };
    const update = { call: { body } };
    const settings = settingsSchema.parse({
      ...BASE,
      profile: 'espocrm',
      description: {
        values: { boolean: 'number' },
        streams: { patients: { keyField: 'cOtherKey', fields: null, update }, invoices: null },
      },
    });
    const { streams, values } = settings.description;
    expect(settings.baseUrl).toBe('https://crm.example.com/api/v1');
    expect(values).toMatchObject({ boolean: 'number', instant: 'sql' });
    expect(streams.invoices).toBeUndefined();
    expect(streams.patients?.fields).toBeUndefined();
    expect(streams.patients).toMatchObject({
      keyField: 'cOtherKey',
      stampField: 'cMirrorStamp',
      update: { call: { method: 'PUT' } },
    });
    expect(streams.patients?.update.call.body).toEqual(body);
    expect(settingsSchema.parse({ ...BASE, profile: 'espocrm' }).description.streams.patients?.keyField).toBe(
      'cMirrorKey',
    );
  });

  test.each([
    ['an unknown profile', { ...BASE, profile: 'espo' }, /^profile: /],
    ['neither profile nor description', BASE, /^description\.streams: /],
    ['a URL with credentials', { baseUrl: 'https://me:secret@crm.example.com', profile: 'espocrm' }, /^baseUrl: /],
    ['plain http to another host', { baseUrl: 'http://crm.example.com', profile: 'espocrm' }, /^baseUrl: /],
    [
      'a page that names no record',
      withPatients({ page: 'https://crm.example.com/people' }),
      /page: {{id}} is required/,
    ],
    ['a page by another scheme', withPatients({ page: 'javascript:alert({{id}})' }), /page: enter an http/],
    [
      'a meaningless placeholder',
      withPatients({ delete: { call: { path: '/Contact/{{page}}' } } }),
      /delete\.call: \{\{page\}\} has no meaning here; available: \{\{id\}\}/,
    ],
    [
      'values of patients in a URL',
      withPatients({ create: { call: { query: { all: '{{properties}}' } } } }),
      /create\.call: \{\{properties\}\} is allowed only in a body/,
    ],
    [
      'a search for several keys that names one',
      withPatients({ find: { call: { query: { 'where[0][value][]': '{{key}}' } } } }),
      /find\.size: a call with several keys requires/,
    ],
    [
      'a search without a key',
      withPatients({ find: { call: { query: { 'where[0][value][]': 'x' } } } }),
      /find\.call: \{\{key\}\} or \{\{keys\}\} is required/,
    ],
    [
      'a create without the properties',
      withPatients({ create: { call: { body: { a: 1 } } } }),
      /create\.call: .* is required/,
    ],
    ['a create whose answer says no id', withPatients({ create: { recordPath: null } }), /create: set where/],
    [
      'pages that would all be the first',
      withPatients({ list: { paging: { style: 'page-size' } } }),
      /list\.paging: the call requires/,
    ],
    ['a path with a query', withPatients({ delete: { call: { path: '/Contact?id={{id}}' } } }), /delete\.call\.path: /],
    ['a header of the transport', withPatients({ delete: { call: { headers: { Authorization: 'x' } } } }), /headers/],
    [
      'appointments without a stamp',
      { ...BASE, profile: 'espocrm', description: { streams: { appointments: { stampField: null } } } },
      /stampField: this field is required/,
    ],
    [
      'appointments without contacts',
      { ...BASE, profile: 'espocrm', description: { streams: { patients: null } } },
      /patients: this field is required to find/,
    ],
  ])('refuse %s', (_, settings, fault) => {
    expect(faultOf(settings)).toMatch(fault);
  });

  test.each([
    ['finds: {}', /line 6, description\.streams\.patients\.finds: unknown key\s+→ did you mean find\?/],
    ['keyField: 7', /line 6, description\.streams\.patients\.keyField: is not valid: 7\s+→ put the value in quotes/],
  ])('report the position of a fault in the description, and its remedy: %s', (line, fault) => {
    const lines = [`baseUrl: ${BASE.baseUrl}`, 'profile: espocrm', 'description:', '  streams:', '    patients:'];
    const read = readYaml('uno.yaml', Buffer.from([...lines, `      ${line}`].join('\n')));
    if ('faults' in read) throw new Error(renderFaults(read.faults));
    const checked = checkFile(read.file, settingsSchema);
    expect('faults' in checked && renderFaults(checked.faults)).toMatch(fault);
  });
});

test('the description in the README is one that the settings take', () => {
  const readme = readFileSync(new URL('../../../src/connectors/rest-crm/README.md', import.meta.url), 'utf8');
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(readme) ?? [];
  const { description } = settingsSchema.parse(parse(yaml));
  expect(description.streams.patients).toMatchObject({ keyField: 'mirror_key', find: { size: 50 } });
  expect(description.errors.codes).toEqual({ QUOTA: 'throttled' });
});
