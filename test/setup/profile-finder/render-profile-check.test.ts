import { expect, test } from 'vitest';
import type { Finding } from '../../../src/setup/profile-finder/findings.ts';
import type { ProfileCheck } from '../../../src/setup/profile-finder/profile-check.ts';
import { renderProfileCheck } from '../../../src/setup/profile-finder/render-profile-check.ts';
import { flat } from '../../operator/cli/arbitraries.ts';

const FINDING: Finding = {
  ...{ area: 'fields', location: 'appointments.fields.start', result: 'differs', certainty: 'likely' },
  ...{ here: 'start', there: 'dataOraInizio', ask: null },
};
const CHECK: ProfileCheck = {
  ...{
    fits: true,
    toDecide: [],
    findings: [],
    proposedProfile: 'listPath: elenco\n',
    omitted: [],
    remarks: [],
    rows: null,
  },
};
const shown = (changes: Partial<ProfileCheck>) => renderProfileCheck({ ...CHECK, ...changes });
const route = (location: string): Finding => ({ ...FINDING, area: 'routes', result: 'absent', location });

test('the profile is shown only if something differs', () => {
  expect(shown({ findings: [FINDING] })).toMatch(/Proposed profile:\n\nlistPath: elenco$/);
  expect(shown({ findings: [{ ...FINDING, result: 'fits' }] })).not.toContain('listPath');
  expect(shown({})).toContain('No differences from the profile.');
});

test('open decisions come first, and each question is shown once', () => {
  const asked = { ...FINDING, ask: 'what does SOSPESO mean?' };
  const text = shown({ toDecide: [asked, asked], findings: [FINDING] });
  expect(text.startsWith("Decide, or ask the clinic's vendor")).toBe(true);
  expect(text.match(/SOSPESO/g)).toHaveLength(1);
});

test('three missing operations are listed, and all are counted', () => {
  const routes = ['a', 'b', 'c', 'd'].map((name) => route(`GET /${name}`));
  expect(flat(shown({ findings: routes }))).toContain('not found: 4 (GET /a, GET /b, GET /c …; full list: --json)');
  expect(flat(shown({ findings: routes.slice(0, 1) }))).toContain('not found: 1 (GET /a; full list: --json)');
  expect(shown({ findings: [{ ...FINDING, result: 'absent' }] })).not.toContain('not found');
});

test('findings are counted by area and result', () => {
  const text = shown({ findings: [FINDING, { ...FINDING, result: 'fits' }, route('GET /a')] });
  expect(text).toMatch(/^fields +1 +1 +0 +0$/m);
  expect(text).toMatch(/^routes +0 +0 +0 +1$/m);
});

test('unreadable references and omitted settings are listed', () => {
  const text = shown({ remarks: ['a reference to elsewhere'], omitted: ['appointments.statuses', 'paging'] });
  expect(text).toContain('Not read: a reference to elsewhere.');
  expect(text).toContain('left out: appointments.statuses, paging');
});

test('records of a clinic show the number of read and skipped records, the reasons, and the states', () => {
  const rows = {
    ...{ of: 'clinic', rows: 3, read: 2, unusable: [{ code: 'bad-time', field: 'start', rows: 1 }], remarks: [] },
    ...{ statuses: [], notRead: ['telefono'] },
    fields: [{ field: 'notes', path: null, value: '', read: '' }],
  } as const satisfies ProfileCheck['rows'] as unknown as NonNullable<ProfileCheck['rows']>;
  const text = shown({ rows });
  expect(flat(text)).toContain('for 3 records: 2 read, 1 skipped (bad-time: start). States: none.');
  expect(text).toMatch(/^notes +–/m);
  expect(text).toMatch(/Not read in this record: telefono\.$/);
  expect(shown({ rows: { ...rows, of: 'document' } })).not.toContain('States:');
});
