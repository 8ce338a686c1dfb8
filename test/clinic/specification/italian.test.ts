import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { compareSpecification } from '../../../src/clinic/specification/compare.ts';
import { propose } from '../../../src/clinic/specification/propose.ts';
import { readSpecification } from '../../../src/clinic/specification/specification.ts';
import { createTenantSource } from '../../../src/clinic/tenant-source.ts';
import type { AppointmentStatus } from '../../../src/model/records.ts';
import {
  AGENDAS,
  APPOINTMENTS,
  expectedRecords,
  instantOf,
  overlaps,
  PATIENTS,
  type TrueAppointment,
  WINDOW,
  withOffset,
} from '../dialect-truth.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';
import { type Script, startScriptedServer } from '../scripted-server.ts';

const document = readFileSync(new URL('../../fixtures/openapi-italian.json', import.meta.url), 'utf8');
const compared = compareSpecification(readSpecification(document), profileOf());
const { yaml } = propose(profileOf(), compared.changes);

const WORDS: Record<AppointmentStatus, string> = {
  booked: 'PRENOTATO',
  confirmed: 'CONFERMATO',
  arrived: 'ACCETTATO',
  in_progress: 'IN_CORSO',
  completed: 'ESEGUITO',
  cancelled: 'DISDETTO',
  no_show: 'NON_PRESENTATO',
  unknown: 'SOSPESO',
};

/** Whole days are no matter of this clinic. */
const TIMED = APPOINTMENTS.filter(({ start }) => start.length > 10);

function row(appointment: TrueAppointment): object {
  const { id, agendaId, patientId, treatmentId, start, end, status } = appointment;
  const patient = PATIENTS.find((known) => known.id === patientId);
  return {
    identificativo: Number(id),
    agenda: { id: Number(agendaId), genitore: null },
    idSede: 9,
    paziente: patient && { id: Number(patient.id), nome: patient.firstName, cognome: patient.lastName },
    idPrestazione: treatmentId && Number(treatmentId),
    dataOraInizio: withOffset(start),
    durataSecondi: (instantOf(end) - instantOf(start)) / 1000,
    stato: WORDS[status],
    ultimaModifica: '2026-02-01T10:00:00+01:00',
  };
}

/** A clinic of the Italian document: cursors, cancelled rows only when they are asked for, one list for several agendas. */
const speak: Script = ({ path, query }) => {
  const paged = (rows: object[]) => {
    const at = Number(query.get('cursor') ?? 0);
    const next = at + Math.min(Number(query.get('per_page') ?? 10), 25);
    const meta = { next_cursor: next < rows.length ? String(next) : null, total_count: rows.length };
    return { json: { meta, elenco: rows.slice(at, next) } };
  };
  const below = path.replace('/gestionale/v3', '');
  if (below === '/userinfo') return { json: { tenants: [{ id: 7 }] } };
  if (below === '/tenants/7/agendas') {
    return paged(
      AGENDAS.map(({ id, name, isActive }) => ({ id: Number(id), denominazione: name, idSede: 9, attivo: isActive })),
    );
  }
  if (below !== '/tenants/7/appointments') return { status: 404, json: { codice: 'non_trovato', messaggio: 'no' } };
  const [from, to] = [Date.parse(query.get('dal') ?? ''), Date.parse(query.get('al') ?? '')];
  if (Number.isNaN(from) || Number.isNaN(to)) return { status: 400, json: { codice: 'periodo_mancante' } };
  const agendas = query.get('idAgenda')?.split(',') ?? null;
  const shown = TIMED.filter(
    (each) =>
      overlaps(each, from, to) &&
      (agendas?.includes(each.agendaId) ?? true) &&
      (each.status !== 'cancelled' || query.get('includiAnnullati') === 'true'),
  );
  return paged(shown.map(row));
};

describe('the Swagger 2.0 document of an Italian clinic', () => {
  test.each([[null], [['1', '3']]])(
    'gives a profile that reads every appointment of the agendas %j, unedited',
    async (agendaIds) => {
      await using server = await startScriptedServer(speak);
      const { client } = openClient(server.url, profileOf(parse(yaml) as WrittenProfile));
      const source = createTenantSource(client, null, Date.now);
      const snapshot = await source.readAppointments({ agendaIds, window: WINDOW }, unhurried());
      expect(snapshot).toMatchObject({ completeness: 'complete', setAside: [], unidentified: 0 });
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

  test('names the path that no profile can say, and the word whose meaning is not known', () => {
    const asked = compared.findings.filter(({ ask }) => ask !== null);
    expect(asked).toContainEqual(
      expect.objectContaining({
        place: 'patients.list',
        there: '/gestionale/v3/tenants/{id}/pazienti',
      }),
    );
    expect(asked).toContainEqual(expect.objectContaining({ verdict: 'undecided', there: 'SOSPESO' }));
  });

  test('is met by the profile that it gave: nothing is left to change', () => {
    const again = compareSpecification(readSpecification(document), profileOf(parse(yaml) as WrittenProfile));
    expect(again.changes).toEqual([]);
  });
});
