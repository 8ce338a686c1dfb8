import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createTenantSource } from '../../src/clinic/tenant-source.ts';
import { compareSpecification } from '../../src/profile-finder/compare.ts';
import { propose } from '../../src/profile-finder/findings.ts';
import { readSpecification } from '../../src/profile-finder/openapi.ts';
import { AGENDAS, expectedRecords, instantOf, WINDOW } from '../clinic/dialect-truth.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../clinic/open-client.ts';
import { startScriptedServer } from '../clinic/scripted-server.ts';
import { italianClinic } from './italian-clinic.ts';

const document = readFileSync(new URL('../fixtures/openapi-italian.json', import.meta.url), 'utf8');
const compared = compareSpecification(readSpecification(document), profileOf());
const { yaml } = propose(profileOf(), compared.changes);

describe('the Swagger 2.0 document of an Italian clinic', () => {
  test.each([[null], [['1', '3']]])(
    'gives a profile that reads every appointment of the agendas %j, unedited',
    async (agendaIds) => {
      await using server = await startScriptedServer(italianClinic);
      const { context } = openClient(server.url, profileOf(parse(yaml) as WrittenProfile));
      const source = createTenantSource(context, null);
      const snapshot = await source.readAppointments({ agendaIds, window: WINDOW }, unhurried());
      expect(snapshot).toMatchObject({ completeness: 'complete', unusable: [], unidentified: 0 });
      const truth = expectedRecords(agendaIds).filter(({ start }) => start.length > 10);
      const essence = [...snapshot.records.values()].map(({ id, agendaId, patientId, treatmentId, time, status }) => {
        return { id, agendaId, patientId, treatmentId, startAt: time.startAt, endAt: time.endAt, status };
      });
      expect(essence.sort((a, b) => a.id.localeCompare(b.id))).toEqual(
        truth
          .map(({ start, end, ...rest }) => ({ ...rest, startAt: instantOf(start), endAt: instantOf(end) }))
          .sort((a, b) => a.id.localeCompare(b.id)),
      );
      expect(truth.some(({ status }) => status === 'cancelled')).toBe(true);
      expect(await source.agendas(unhurried())).toMatchObject(AGENDAS);
    },
  );

  test('asks what the word means whose meaning is not known, and says which operation is not there', () => {
    const { findings } = compared;
    expect(findings).toContainEqual(
      expect.objectContaining({ result: 'undecided', there: 'SOSPESO', ask: expect.stringContaining('SOSPESO') }),
    );
    expect(findings).toContainEqual(expect.objectContaining({ location: 'patients.list', result: 'absent' }));
  });

  test('is met by the profile that it gave: nothing is left to change', () => {
    const again = compareSpecification(readSpecification(document), profileOf(parse(yaml) as WrittenProfile));
    expect(again.changes).toEqual([]);
  });
});
