import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { OPERATIONS } from '../../../src/clinic/schema/operations.ts';
import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { type Ran, runProgram } from '../../operator/cli/run-program.ts';

/** Runs one command line with files that it may read. */
function run(args: readonly string[], files: Record<string, string>): Promise<Ran> {
  return runProgram(args, { files });
}

const fixture = readFileSync(new URL('../../fixtures/openapi-italian.json', import.meta.url), 'utf8');

test('exits with 1 if something differs, and shows differences, questions and profile in 100 columns', async () => {
  const ran = await run(['check-spec', 'clinic.json', '--write', 'mine.yaml'], { 'clinic.json': fixture });
  expect([ran.code, ran.thrown]).toEqual([1, null]);
  expect(ran.out).toMatch(/appointments\.fields\.start +start +dataOraInizio +likely/);
  expect(ran.out).toContain('what does the state mean: SOSPESO?');
  const table = ran.out.slice(0, ran.out.indexOf('Proposed profile:'));
  expect(Math.max(...table.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(clinicProfileSchema.parse(parse(ran.written['mine.yaml'] ?? ''))).toMatchObject({ listPath: 'elenco' });
});

test('shows the values read from the records of a response, after all other findings', async () => {
  const row = {
    identificativo: 7,
    agenda: { id: 1 },
    paziente: { id: 3, cognome: 'Bellini' },
    dataOraInizio: '2026-03-29T09:00:00',
    durataSecondi: 1800,
    stato: 'PRENOTATO',
  };
  const rows = JSON.stringify({ elenco: [row, { ...row, dataOraInizio: 'x' }] });
  const files = { 'clinic.json': fixture, 'rows.json': rows };
  const ran = await run(['check-spec', 'clinic.json', '--records', 'rows.json'], files);
  const shown = ran.out.slice(ran.out.indexOf('Result of this profile'));
  expect(shown).toMatch(
    /^Result of this profile for 2 records: 1 read, 1 skipped \(bad-time: start\)\.\nStates: 1 booked/,
  );
  expect(shown).toMatch(/^start +dataOraInizio +2026-03-29T09:00:00 +2026-03-29T09:00:00\+02:00$/m);
  expect(shown).not.toContain('Bellini');
  const json = JSON.parse((await run(['check-spec', 'clinic.json', '--records', 'rows.json', '--json'], files)).out);
  expect([json.rows.read, json.toDecide[0].location]).toEqual([1, 'appointments.statuses']);
  const wrong = await run(['check-spec', 'clinic.json', '--records', 'clinic.json'], files);
  expect(wrong.thrown).toMatchObject({ actor: 'settings', code: 'record-file-unreadable' });
});

test('exits with 0 without differences', async () => {
  const paths: Record<string, object> = {};
  for (const { path, method } of OPERATIONS) paths[path] = { ...paths[path], [method.toLowerCase()]: {} };
  const ran = await run(['check-spec', 'all.json', '--json'], {
    'all.json': JSON.stringify({ openapi: '3.1.0', paths }),
  });
  expect([ran.thrown, ran.code, JSON.parse(ran.out).fits]).toEqual([null, 0, true]);
});

test('refuses a file that is not an OpenAPI document', async () => {
  const ran = await run(['check-spec', 'notes.txt'], { 'notes.txt': 'hello' });
  expect(ran.thrown).toMatchObject({ actor: 'settings', code: 'spec-not-openapi' });
});
