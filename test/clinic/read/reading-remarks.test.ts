import { describe, expect, it, test } from 'vitest';
import { emptyPathsIn, RemarkCollectors, remarksOf, UnreadZones } from '../../../src/clinic/read/reading-remarks.ts';
import { createTenantSource } from '../../../src/clinic/tenant-source.ts';
import { sentenceOfRemark } from '../../../src/core/model/snapshots.ts';
import { render } from '../../../src/messages/message.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';
import { startScriptedServer } from '../scripted-server.ts';

const LOCAL = { id: 'a', agendaId: 'g', start: '2026-12-01T09:00:00', end: '2026-12-01T09:30:00', status: 'Booked' };
const WINDOW = { fromAt: Date.parse('2026-11-01T00:00:00Z'), toAt: Date.parse('2026-12-31T00:00:00Z') };

/** A clinic with one list of appointments. */
async function clinicWith(rows: object[], written: WrittenProfile = {}, agendas: object[] = []) {
  const server = await startScriptedServer(({ url }) => {
    if (url.includes('/agendas')) return { json: agendas };
    if (url.includes('/locations')) return { json: [] };
    return { json: url.includes('/appointments') ? rows : { tenants: [{ id: 't' }] } };
  });
  const { context } = openClient(server.url, profileOf({ paging: { style: 'none' }, ...written }));
  const source = createTenantSource(context, null);
  const read = () => source.readAppointments({ agendaIds: null, window: WINDOW }, unhurried());
  return { server, source, read };
}

describe('a zone that the profile does not name', () => {
  it('is reported with its field and row count if local times use another zone', () => {
    const row = { ...LOCAL, site: { tz: 'Atlantic/Canary' }, country: 'Japan' };
    const remark = { list: 'appointments', field: 'zone', path: 'site.tz', rows: 2, zones: ['Atlantic/Canary'] };
    expect(remarksOf([row, row], profileOf())).toEqual([{ code: 'zone-unread', ...remark }]);
    expect(remarksOf([row], profileOf({ zone: 'Atlantic/Canary' }))).toEqual([]);
    expect(remarksOf([row], profileOf({ appointments: { fields: { zone: ['site.tz'] } } }))).toEqual([]);
  });

  it('is reported for appointments and agendas by each read', async () => {
    const clinic = await clinicWith([{ ...LOCAL, tz: 'Atlantic/Canary' }], {}, [
      { id: 'g', name: 'G', tz: 'Asia/Tokyo' },
    ]);
    await using _server = clinic.server;
    await clinic.read();
    expect(clinic.source.remarks().map(({ list, path }) => `${list} ${path}`)).toEqual([
      'appointments tz',
      'agendas tz',
    ]);
  });
});

describe('a value of a row', () => {
  const remarksIn = (row: object) => {
    const found = new UnreadZones('appointments', []);
    found.look(row, 'Europe/Rome');
    return found.remarks().map(({ path }) => path);
  };

  it('is a zone if it reads UTC or region and place, up to three objects deep', () => {
    expect(remarksIn({ a: 'UTC', b: { c: { d: 'Asia/Tokyo' } }, e: 'America/Argentina/Ushuaia' })).toEqual([
      'a',
      'b.c.d',
      'e',
    ]);
  });

  it('is no zone if it is a country name, deeper, in a list, or the zone in use', () => {
    const deep = { a: { b: { c: { d: 'Asia/Tokyo' } } } };
    expect(
      remarksIn({ country: 'Japan', ...deep, list: ['Asia/Tokyo'], used: 'Europe/Rome', no: 'Nowhere/At' }),
    ).toEqual([]);
  });

  it('is counted once for a row that was read several times', () => {
    const found = new UnreadZones('agendas', []);
    for (const zone of ['Asia/Tokyo', 'Asia/Seoul', 'Asia/Tokyo']) found.look({ zone }, 'UTC');
    found.ended(2);
    expect(found.remarks()).toMatchObject([{ rows: 2, zones: ['Asia/Seoul', 'Asia/Tokyo'] }]);
  });
});

test('a profile whose own zone has no daylight saving time is remarked', () => {
  const of = (zone: string) => new RemarkCollectors(profileOf({ zone })).all();
  expect(of('Europe/Rome')).toEqual([]);
  expect(of('EST').map((one) => render(sentenceOfRemark(one)))).toEqual([
    'the clinic profile has the zone EST, which has no daylight saving time; if the clinic’s clocks change, set zone: America/New_York',
  ]);
});

describe('a path of the profile that finds nothing', () => {
  it('is reported after a full read, with its field and the number of rows', async () => {
    const fields = { notes: ['memo'], treatmentId: ['service.id', 'service.code'], locationId: ['sites[].id'] };
    const rows = [LOCAL, { ...LOCAL, id: 'b', sites: [{ id: 'l' }] }];
    const clinic = await clinicWith(rows, { appointments: { fields } });
    await using _server = clinic.server;
    expect(clinic.source.remarks()).toEqual([]);
    await clinic.read();
    const told = clinic.source.remarks();
    expect(told.map(({ code, field, path }) => [code, field, path])).toEqual([
      ['path-empty', 'treatmentId', 'service.id, service.code'],
      ['path-empty', 'notes', 'memo'],
    ]);
    expect(told[0]?.rows).toBe(2);
  });

  it('is no fault without rows, for a member that every row leaves empty, and beside another path of the field', () => {
    const found = (name: string[], rows: unknown[]) =>
      emptyPathsIn('agendas', rows, profileOf({ agendas: { fields: { name } } }));
    expect(found(['label'], [])).toEqual([]);
    expect(found(['label'], [{ title: 'Room' }, 'no row'])).toMatchObject([{ path: 'label', rows: 2 }]);
    expect(found(['label'], [{ label: '' }])).toEqual([]);
    expect(found(['texts.label'], [{ texts: null }])).toEqual([]);
    expect(found(['texts.label'], [{ texts: { title: 'Room' } }])).toMatchObject([{ path: 'texts.label' }]);
    expect(found(['label', 'title'], [{ title: 'Room' }])).toEqual([]);
    expect(found(['label', 'name'], [{ name: 'Room' }])).toEqual([]);
  });
});

describe('an unpaged list that says outside its rows that there are more', () => {
  /** Answers with two rows, and other values next to or around the rows. */
  async function listWith(around: () => object, paging: WrittenProfile['paging'] = { style: 'none' }) {
    const rows = [LOCAL, { ...LOCAL, id: 'b' }];
    const server = await startScriptedServer(({ url }) => {
      if (url.includes('/appointments')) return { json: { righe: rows, ...around() } };
      return { json: url.includes('/userinfo') ? { tenants: [{ id: 't' }] } : [] };
    });
    const { context } = openClient(
      server.url,
      profileOf({ paging, listPath: 'righe', locations: { listPath: '.' }, agendas: { listPath: '.' } }),
    );
    const source = createTenantSource(context, null);
    const read = () => source.readAppointments({ agendaIds: null, window: WINDOW }, unhurried());
    return { server, source, read };
  }

  it.each([
    ['nextPageToken', 'x'],
    ['@odata.nextLink', 'https://clinic.example/next'],
    ['altre', 'S'],
    ['hasMore', true],
    ['totalCount', 240],
    ['paginazione', { anzahl: '240' }],
  ])('is partial by %s, and the remark names the field', async (name, value) => {
    let around: object = { [name]: value };
    const clinic = await listWith(() => around);
    await using _server = clinic.server;
    expect(await clinic.read()).toMatchObject({ completeness: 'partial' });
    const path = typeof value === 'object' ? `${name}.anzahl` : name;
    if (name !== 'hasMore') {
      const remark = { code: 'more-told', list: 'appointments', field: 'paging', path, rows: 2 };
      expect(clinic.source.remarks()).toEqual([remark]);
    }
    around = { totale: 2, pagina: 1 };
    expect(await clinic.read()).toMatchObject({ completeness: 'complete' });
    expect(clinic.source.remarks()).toEqual([]);
  });

  it('is complete if the profile declares the field meaningless', async () => {
    const clinic = await listWith(() => ({ letti: 240 }), { style: 'none', ignoredPaths: ['letti'] });
    await using _server = clinic.server;
    expect(await clinic.read()).toMatchObject({ completeness: 'complete' });
  });
});

describe('a zone without daylight saving time', () => {
  it.each([
    ['EST', 'America/New_York'],
    ['MST', 'America/Denver'],
    ['HST', 'Pacific/Honolulu'],
  ])('%s, is reported with the zone that is usually meant', async (zone, usual) => {
    const clinic = await clinicWith([{ ...LOCAL, timeZone: zone }]);
    await using _server = clinic.server;
    await clinic.read();
    const [remark, ...others] = clinic.source.remarks();
    expect([remark?.code, remark?.path, remark?.zones, others]).toEqual(['zone-fixed', 'timeZone', [zone], []]);
    expect(remark === undefined ? '' : render(sentenceOfRemark(remark))).toContain(usual);
  });

  it('is no remark for a zone of a region, an offset or a Windows name', async () => {
    for (const timeZone of ['Europe/Rome', 'Etc/GMT-1', 'W. Europe Standard Time']) {
      expect(remarksOf([{ ...LOCAL, timeZone }], profileOf())).toEqual([]);
    }
  });
});

test('dates of unknown order are reported with the setting, until it is set', async () => {
  const rows = [{ ...LOCAL, start: '03/12/2026 09:00', end: '03/12/2026 09:30' }];
  for (const dateOrder of [null, 'day-first'] as const) {
    const clinic = await clinicWith(rows, { dateOrder });
    await using _server = clinic.server;
    await clinic.read();
    const remarks = clinic.source.remarks();
    expect(remarks.map((one) => [one.code, one.field, one.rows])).toEqual(
      dateOrder === null ? [['date-order', 'start', 1]] : [],
    );
    for (const one of remarks) expect(render(sentenceOfRemark(one))).toContain('set dateOrder');
  }
});

test('remarks name at most twenty paths and zones, whatever the clinic sends', () => {
  const found = new UnreadZones('appointments', []);
  for (let at = 0; at < 200; at += 1) found.look({ [`tz${at}`]: 'Asia/Tokyo' }, 'Europe/Rome');
  for (let at = 0; at < 200; at += 1) found.look({ tz0: `Zone/Z${at}` }, 'Europe/Rome');
  const remarks = found.remarks();
  expect(remarks).toHaveLength(20);
  for (const { zones = [] } of remarks) expect(zones.length).toBeLessThanOrEqual(20);
});
