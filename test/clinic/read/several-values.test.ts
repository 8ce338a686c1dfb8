import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { compileAppointmentRows, compileBookings } from '../../../src/clinic/read/appointment-rows.ts';
import { remarksOf } from '../../../src/clinic/read/reading-remarks.ts';
import { readSnapshot } from '../../../src/clinic/read/snapshot.ts';
import { createTenantSource } from '../../../src/clinic/tenant-source.ts';
import { agendasOf, belongsTo } from '../../../src/core/model/records.ts';
import { sentenceOfRemark } from '../../../src/core/model/snapshots.ts';
import { render } from '../../../src/messages/message.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';
import { startScriptedServer } from '../scripted-server.ts';

const ROW = { id: 'a', patientId: 'p', start: '2026-12-01T09:00:00Z', end: '2026-12-01T09:30:00Z', status: 'Booked' };
const WINDOW = { fromAt: Date.parse('2026-11-01T00:00:00Z'), toAt: Date.parse('2026-12-31T00:00:00Z') };

function agendasAt(path: string, more: WrittenProfile['appointments'] = {}): WrittenProfile {
  return { paging: { style: 'none' }, appointments: { ...more, fields: { agendaId: [path] } } };
}

function recordOf(row: object, written: WrittenProfile) {
  const mapped = compileAppointmentRows(profileOf(written))(row);
  if ('unusable' in mapped) throw new Error(`set aside: ${mapped.unusable.code} ${mapped.unusable.field}`);
  return mapped.record;
}

/** Forms of a list in a row, by the path that reads the form. */
const FORMS = {
  agendas: (ids: unknown[]) => ({ agendas: ids }),
  'agendas[]': (ids: unknown[]) => ({ agendas: ids }),
  'agendas[].id': (ids: unknown[]) => ({ agendas: ids.map((id) => ({ id })) }),
  'agendas.id': (ids: unknown[]) => ({ agendas: ids.map((id) => ({ id })) }),
  'agendas.agenda': (ids: unknown[]) => ({ agendas: { agenda: ids } }),
  'links[kind=agenda].id': (ids: unknown[]) => ({
    links: [{ kind: 'page', id: 'x' }, ...ids.map((id) => ({ kind: 'agenda', id }))],
  }),
} satisfies Record<string, (ids: unknown[]) => object>;

const forms = fc.constantFrom(...(Object.keys(FORMS) as (keyof typeof FORMS)[]));
const lists = fc.array(fc.constantFrom('dr-7', 'room-2', '7', 7, '', null), { minLength: 1, maxLength: 5 });

describe('a list in the field of the agenda', () => {
  test('in any form and order keeps its first value, and each further one is reported', () => {
    fc.assert(
      fc.property(forms, lists, (path, ids) => {
        const named = [...new Set(ids.filter((id) => id !== '' && id !== null).map(String))];
        const row = { ...ROW, ...FORMS[path](ids) };
        const mapped = compileAppointmentRows(profileOf(agendasAt(path)))(row);
        if (named.length === 0) {
          expect(mapped).toMatchObject({ unusable: { code: 'missing-field', field: 'agendaId' } });
          return;
        }
        const record = recordOf(row, agendasAt(path));
        expect(record.agendaId).toBe(named[0]);
        expect(record.agendaIds).toEqual(named.length > 1 ? named : undefined);
        expect(record.cut).toEqual(named.length > 1 ? ['agendaId'] : undefined);
        const told = remarksOf([row], profileOf(agendasAt(path))).filter(({ code }) => code === 'several-values');
        expect(told.map(({ field, rows }) => [field, rows])).toEqual(named.length > 1 ? [['agendaId', 1]] : []);
      }),
    );
  });

  test('belongs to every agenda with each, and is not reported', () => {
    fc.assert(
      fc.property(forms, lists, (path, ids) => {
        const named = [...new Set(ids.filter((id) => id !== '' && id !== null).map(String))];
        fc.pre(named.length > 0);
        const written = agendasAt(path, { each: ['agendaId'] });
        const row = { ...ROW, ...FORMS[path](ids) };
        const record = recordOf(row, written);
        expect(agendasOf(record)).toEqual(named);
        for (const id of named) expect(belongsTo(record, ['other', id])).toBe(true);
        expect(belongsTo(record, ['other'])).toBe(false);
        expect(remarksOf([row], profileOf(written)).map(({ code }) => code)).not.toContain('several-values');
      }),
    );
  });

  it('is not reported if the path names one element', () => {
    const record = recordOf({ ...ROW, agendas: ['dr-7', 'room-2'] }, agendasAt('agendas.1'));
    expect(record).toMatchObject({ agendaId: 'room-2' });
    expect(record).not.toHaveProperty('cut');
  });

  it('with a value that is no id makes the row unusable, for any target', () => {
    const map = compileAppointmentRows(profileOf(agendasAt('agendas[]')));
    const unusable = { recordId: 'a', code: 'wrong-type', field: 'agendaId' };
    expect(map({ ...ROW, agendas: ['dr-7', true] })).toEqual({ unusable });
    const late = { recordId: 'a', code: 'bad-time', field: 'start' };
    expect(map({ ...ROW, start: 'x', agendas: ['dr-7', 'room-2'] })).toEqual({ unusable: late });
    expect(map({ ...ROW, start: 'x', agendas: ['dr-7'] })).toEqual({ unusable: { ...late, agendaId: 'dr-7' } });
  });

  it('is read by the API form as its first value', () => {
    const mapped = compileBookings(profileOf(agendasAt('agendas')))({ ...ROW, agendas: ['dr-7', 'room-2'] });
    expect(mapped).toMatchObject({ record: { agendaId: 'dr-7' } });
  });
});

describe('a list in the field of the patient', () => {
  const written: WrittenProfile = {
    appointments: {
      fields: { agendaId: ['agendaId'], patientId: ['patients[].id'], patientFirstName: ['patients[].name'] },
    },
  };

  it('keeps the first patient without the names of another, and is reported', () => {
    const row = { ...ROW, agendaId: 'g', patients: [{ id: 'p1' }, { id: 'p2', name: 'Anna' }, { id: 'p3' }] };
    expect(recordOf(row, written)).toMatchObject({ patientId: 'p1', patient: null, cut: ['patientId'] });
    const [remark] = remarksOf([row, row], profileOf(written));
    expect(remark).toEqual({
      code: 'several-values',
      list: 'appointments',
      field: 'patientId',
      path: 'patients[].id',
      rows: 2,
    });
    if (remark === undefined) throw new Error('no remark');
    const sentence = render(sentenceOfRemark(remark));
    expect(sentence).toContain('patients[].id contains several');
    expect(sentence).toContain('set each: [patientId]');
  });

  it('with each has a visit for each patient, without names, and is not reported', () => {
    const each: WrittenProfile = { appointments: { ...written.appointments, each: ['patientId'] } };
    const row = {
      ...ROW,
      agendaId: 'g',
      patients: [{ id: 'p1', name: 'Anna' }, { id: 'p2' }, { id: 'p1' }, { id: '' }],
    };
    const record = recordOf(row, each);
    expect(record).toMatchObject({ patientId: 'p1', patient: null, patientIds: ['p1', 'p2'] });
    expect(record).not.toHaveProperty('cut');
    expect(remarksOf([row], profileOf(each)).map(({ code }) => code)).not.toContain('several-values');
    expect(recordOf({ ...row, patients: [{ id: 'p1' }] }, each)).not.toHaveProperty('patientIds');
    const agendas: WrittenProfile = { appointments: { ...written.appointments, each: ['agendaId'] } };
    expect(recordOf(row, agendas)).toMatchObject({ cut: ['patientId'] });
    expect(recordOf(row, agendas)).not.toHaveProperty('patientIds');
  });

  it('of one patient is no list', () => {
    const record = recordOf({ ...ROW, agendaId: 'g', patients: [{ id: 'p1', name: 'Anna' }, { id: 'p1' }] }, written);
    expect(record).toMatchObject({ patientId: 'p1', patient: { firstName: 'Anna' } });
    expect(record).not.toHaveProperty('cut');
  });
});

test('a visit is read alone by the request for its appointment', async () => {
  const asked: string[] = [];
  const fields = { patientId: ['patients'] };
  const written: WrittenProfile = { paging: { style: 'none' }, appointments: { each: ['patientId'], fields } };
  await using server = await startScriptedServer(({ url, path }) => {
    asked.push(path);
    const tenants = [{ id: 't' }];
    if (url.includes('userinfo')) return { json: { tenants } };
    return { json: path.endsWith('/a') ? { ...ROW, agendaId: 'g', patients: ['p1', 'p2'] } : [] };
  });
  const { readAppointment } = createTenantSource(openClient(server.url, profileOf(written)).context, 't');
  const found = { id: 'a~patient:p2', patientId: 'p2' };
  expect(await readAppointment('a~patient:p2', unhurried())).toMatchObject({ found });
  expect(await readAppointment('a~patient:p3', unhurried())).toEqual({ absent: true });
  expect(asked.filter((path) => path.includes('patient'))).toEqual([]);
});

test('a read for the further agenda keeps the record, and the remark counts it until the list names one agenda', async () => {
  let agendas = ['dr-7', 'room-2'];
  const answer = (url: string) =>
    url.includes('/appointments') ? [{ ...ROW, agendas }] : url.includes('/tenants') ? { tenants: [{ id: 't' }] } : [];
  await using server = await startScriptedServer(({ url }) => ({
    json: url.includes('userinfo') ? { tenants: [{ id: 't' }] } : answer(url),
  }));
  const { context } = openClient(server.url, profileOf(agendasAt('agendas')));
  const question = { agendaIds: ['room-2'], window: WINDOW };
  const snapshot = await readSnapshot(context, { ...question, tenantId: 't', signal: unhurried() });
  expect([...snapshot.records.keys()]).toEqual(['a']);
  const source = createTenantSource(context, 't');
  await source.readAppointments(question, unhurried()).catch(() => {});
  await source.readAppointments(question, unhurried());
  expect(source.remarks().map(({ code, rows }) => [code, rows])).toContainEqual(['several-values', 1]);
  agendas = ['room-2'];
  await source.readAppointments(question, unhurried());
  expect(source.remarks().map(({ code }) => code)).not.toContain('several-values');
});
