import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { createTenantSource } from '../../../src/clinic/tenant-source.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { compareSpecification } from '../../../src/setup/profile-finder/compare.ts';
import { propose } from '../../../src/setup/profile-finder/findings.ts';
import { readSpecification } from '../../../src/setup/profile-finder/openapi.ts';
import { AGENDAS, expectedRecords, instantOf, WINDOW as TRUE_WINDOW } from '../../clinic/dialect-truth.ts';
import { committedProfile, openClient, profileOf, unhurried, type WrittenProfile } from '../../clinic/open-client.ts';
import { startScriptedServer } from '../../clinic/scripted-server.ts';
import { firstTenant, frontDeskToken, NOW } from '../../sandbox/clinic/support.ts';
import { italianClinic } from '../probe/italian-clinic.ts';
import { changed, PATH, undecidedAt, withAppointments } from './documents.ts';

describe('fields that few clinics have are questions, with the available ones', () => {
  const properties = { id: { type: 'string' }, start: { type: 'string' } };

  test('where errors hold their word and their text', () => {
    const body = { type: 'object', properties: { codice: { type: 'string' }, message: { type: 'string' } } };
    const failure = { content: { 'application/json': { schema: body } } };
    const document = JSON.parse(withAppointments({ type: 'object', properties }));
    document.paths[PATH].get.responses[400] = failure;
    expect(undecidedAt(JSON.stringify(document), 'errors.codePaths')?.ask).toContain('It has: codice, message');
    expect(undecidedAt(JSON.stringify(document), 'errors.textPaths')?.ask).toBe(undefined);
  });

  test('the parts in which a report is sent', () => {
    const schema = { type: 'object', properties: { allegato: { type: 'string', format: 'binary' }, dati: {} } };
    const post = { requestBody: { content: { 'multipart/form-data': { schema } } }, responses: {} };
    const paths = { '/v2/tenants/{id}/medical-reports': { post } };
    const document = JSON.stringify({ openapi: '3.0.3', paths });
    expect(undecidedAt(document, 'medicalReports.upload')?.ask).toContain('multipart/form-data: allegato, dati');
  });
});

describe('the path of rows and of single records', () => {
  const TEXT = { type: 'string' };
  const ROW = { type: 'object', properties: { id: TEXT, name: TEXT, code: TEXT } };
  const json = (schema: object) => ({ responses: { 200: { content: { 'application/json': { schema } } } } });
  const within = (name: string, schema: object) => ({ type: 'object', properties: { [name]: schema } });
  const rows = (name: string) => within(name, { type: 'array', items: ROW });
  const documentOf = (operations: Record<string, object>) => {
    const paths = Object.entries(operations).map(([path, answer]) => [`/v2/tenants/{t}${path}`, { get: json(answer) }]);
    return JSON.stringify({ openapi: '3.0.3', paths: Object.fromEntries(paths) });
  };

  test('that several answers share becomes the profile’s default, and another list gets a separate path', () => {
    const document = documentOf({
      '/agendas': rows('elenco'),
      '/locations': rows('elenco'),
      '/patients': rows('righe'),
    });
    expect(changed(document, 'listPath')).toBe('elenco');
    expect(changed(document, 'patients.listPath')).toBe('righe');
    expect(changed(documentOf({ '/agendas': rows('data'), '/patients': rows('items') }), 'listPath')).toBe(undefined);
  });

  test('is the location of the row fields, and a question if two locations have them', () => {
    const read = (answer: object) => documentOf({ '/agendas': rows('data'), '/agendas/{id}': answer });
    expect(changed(read(within('agenda', ROW)), 'recordPath')).toBe('agenda');
    expect(changed(read(ROW), 'recordPath')).toBe(undefined);
    const both = { type: 'object', properties: { before: ROW, after: ROW } };
    expect(undecidedAt(read(both), 'agendas.recordPath')?.ask).toContain('contains the record?');
  });

  test('is a question if an answer has several lists', () => {
    const lists = { type: 'object', properties: { ...rows('alfa').properties, ...rows('beta').properties } };
    expect(undecidedAt(documentOf({ '/agendas': lists }), 'agendas (list)')?.ask).toContain('contains the records?');
  });
});

test('numeric times have the unit of appointments, and fields with another unit are reported', () => {
  const time = (format: string) => ({ type: 'integer', format });
  const row = (format: string, more = {}) => ({ type: 'object', properties: { start: time(format), ...more } });
  const seconds = row('unix', { updatedAt: time('epoch milliseconds') });
  expect(changed(withAppointments(row('epoch milliseconds')), 'epochUnit')).toBe('ms');
  expect(undecidedAt(withAppointments(seconds), 'epochUnit (others)')?.there).toBe('appointments.fields.updatedAt');
});

describe('the Swagger 2.0 document of an Italian clinic', () => {
  const document = readFileSync(new URL('../../fixtures/openapi-italian.json', import.meta.url), 'utf8');
  const compared = compareSpecification(readSpecification(document), profileOf());
  const { yaml } = propose(profileOf(), compared.changes);

  test.each([[null], [['1', '3']]])(
    'gives a profile that reads every appointment of the agendas %j, unedited',
    async (agendaIds) => {
      await using server = await startScriptedServer(italianClinic);
      const { context } = openClient(server.url, profileOf(parse(yaml) as WrittenProfile));
      const source = createTenantSource(context, null);
      const snapshot = await source.readAppointments({ agendaIds, window: TRUE_WINDOW }, unhurried());
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

  test('reports an unknown status as undecided, and lists missing operations', () => {
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

describe('the document of a clinic with numbered pages', () => {
  const WINDOW = { fromAt: NOW - 20 * DAY_MS, toAt: NOW + 50 * DAY_MS };

  let sandbox: ClinicSandbox;
  let token: string;
  beforeAll(async () => {
    sandbox = await startClinicSandbox({ tenants: 1, appointments: 400, now: NOW, dialect: 'pages' });
    token = await frontDeskToken(sandbox);
  });
  afterAll(() => sandbox.close());

  const document = readFileSync(new URL('../../fixtures/openapi-pages.yaml', import.meta.url), 'utf8');

  function proposed() {
    const base = profileOf();
    const compared = compareSpecification(readSpecification(document), base);
    return { ...compared, ...propose(base, compared.changes) };
  }

  async function readWith(written: WrittenProfile) {
    const header = async () => `Bearer ${token}`;
    const { client } = openClient(sandbox.baseUrl, profileOf(written), { authorization: { header, renew: header } });
    const query = { agendaIds: null, window: WINDOW };
    return client.readAppointments(firstTenant(sandbox).id, query, unhurried());
  }

  test('gives a profile that reads it, unedited', async () => {
    const { yaml, omitted, findings } = proposed();
    expect(omitted).toEqual([]);
    expect(
      findings.filter(({ location: place, result: verdict }) => verdict === 'fits' && place.includes('appointments'))
        .length,
    ).toBeGreaterThan(2);
    const snapshot = await readWith(parse(yaml) as WrittenProfile);
    expect(snapshot).toMatchObject({ completeness: 'complete', unusable: [] });
    const truth = [...sandbox.appointments(firstTenant(sandbox).id)].filter(
      ({ start, end, deleted }) => !deleted && start < WINDOW.toAt && end > WINDOW.fromAt,
    );
    expect(truth.length).toBeGreaterThan(100);
    expect([...snapshot.records.keys()].sort()).toEqual(truth.map(({ id }) => id).sort());
    for (const { id, agendaId, start, status } of truth) {
      const record = snapshot.records.get(id);
      expect([record?.agendaId, record?.time.startAt]).toEqual([agendaId, start]);
      expect(record?.status).toBe(
        {
          Booked: 'booked',
          Confirmed: 'confirmed',
          CheckedIn: 'arrived',
          InProgress: 'in_progress',
          Completed: 'completed',
          Cancelled: 'cancelled',
          NoShow: 'no_show',
        }[status],
      );
    }
  });

  test('gives a profile equivalent to the committed one, except for the end of whole days, which no document contains', async () => {
    const { yaml } = proposed();
    const mine = await readWith({ ...(parse(yaml) as WrittenProfile) });
    const header = async () => `Bearer ${token}`;
    const authorization = { header, renew: header };
    const { client } = openClient(sandbox.baseUrl, committedProfile('pages'), { authorization });
    const shipped = await client.readAppointments(
      firstTenant(sandbox).id,
      { agendaIds: null, window: WINDOW },
      unhurried(),
    );
    const timed = (snapshot: typeof mine) =>
      [...snapshot.records.values()]
        .filter(({ time }) => time.kind === 'timed')
        .sort((a, b) => a.id.localeCompare(b.id));
    expect(timed(mine)).toEqual(timed(shipped));
  });
});
