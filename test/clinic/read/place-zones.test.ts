import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import { createTenantSource } from '../../../src/clinic/tenant-source.ts';
import { createAppointmentCalls } from '../../../src/clinic/write/appointment-calls.ts';
import windowsZones from '../../../src/core/model/windows-zones.json' with { type: 'json' };
import { openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';
import { startScriptedServer } from '../scripted-server.ts';

const LOCAL = { id: 'a', agendaId: 'g', start: '2026-12-01T09:00:00', end: '2026-12-01T09:30:00', status: 'Booked' };
const WINDOW = { fromAt: Date.parse('2026-11-01T00:00:00Z'), toAt: Date.parse('2026-12-31T00:00:00Z') };

const map = compileAppointmentRows(profileOf());

function startIn(mapped: ReturnType<typeof map>): string {
  if ('unusable' in mapped) return mapped.unusable.code;
  return new Date(mapped.record.time.startAt).toISOString().slice(11, 16);
}

/** A clinic with one list of appointments, and the given places. */
async function clinicWith(
  { agendas = [], locations = [], rows = [LOCAL] }: { agendas?: object[]; locations?: object[]; rows?: object[] },
  written: WrittenProfile = {},
) {
  const server = await startScriptedServer(({ url }) => {
    if (url.includes('/agendas')) return { json: agendas };
    if (url.includes('/locations')) return { json: locations };
    if (url.includes('/appointments')) return { json: url.includes('/appointments/') ? rows[0] : rows };
    return { json: { tenants: [{ id: 't' }] } };
  });
  const { context } = openClient(server.url, profileOf({ paging: { style: 'none' }, ...written }));
  const source = createTenantSource(context, null);
  const read = async () => {
    const { records, unusable } = await source.readAppointments({ agendaIds: null, window: WINDOW }, unhurried());
    const starts = [...records.values()].map((record) => startIn({ record }));
    return [...starts, ...unusable.map(({ code }) => code)];
  };
  return { server, context, source, read };
}

describe('a local time', () => {
  it('is read in the zone that its row names, otherwise in that of the profile', () => {
    expect(startIn(map(LOCAL))).toBe('08:00');
    expect(startIn(map({ ...LOCAL, timeZone: 'Atlantic/Canary' }))).toBe('09:00');
    expect(startIn(map({ ...LOCAL, timeZone: '' }))).toBe('08:00');
  });

  it('is read in a Windows zone like in its IANA zone, wherever the name is', async () => {
    expect(startIn(map({ ...LOCAL, timeZone: 'W. Europe Standard Time' }))).toBe('08:00');
    const inText = {
      start: '2026-12-01T09:00:00[Tokyo Standard Time]',
      end: '2026-12-01T09:30:00[Tokyo Standard Time]',
    };
    expect(startIn(map({ ...LOCAL, ...inText }))).toBe('00:00');
    for (const site of ['agendas', 'locations'] as const) {
      const row = { id: site === 'agendas' ? 'g' : 'l', name: 'N', timeZone: 'GMT Standard Time' };
      const agendas = site === 'agendas' ? [row] : [{ id: 'g', name: 'G', locationId: 'l' }];
      const clinic = await clinicWith({ agendas, locations: site === 'locations' ? [row] : [] });
      await using _server = clinic.server;
      expect(await clinic.read()).toEqual(['09:00']);
    }
    fc.assert(
      fc.property(fc.constantFrom(...Object.entries(windowsZones)), fc.boolean(), ([name, zone], isLower) => {
        const spelled = isLower ? name.toLowerCase() : ` ${name} `;
        expect(map({ ...LOCAL, timeZone: spelled })).toEqual(map({ ...LOCAL, timeZone: zone }));
      }),
    );
  });

  it('makes the row unusable if the zone is unknown to IANA', () => {
    for (const timeZone of ['Canary', 7, {}]) expect(startIn(map({ ...LOCAL, timeZone }))).toBe('unknown-zone');
    const told = { start: '2026-12-01T09:00:00Z', end: '2026-12-01T09:30:00Z', timeZone: 'Canary' };
    expect(startIn(map({ ...LOCAL, ...told }))).toBe('09:00');
  });

  it.each([
    ['row', { zone: 'Asia/Tokyo' }, { zone: 'Europe/Lisbon' }, { timeZone: 'Atlantic/Canary' }, '09:00'],
    ['agenda', { timeZone: 'Asia/Tokyo' }, { timeZone: 'Europe/Lisbon' }, {}, '00:00'],
    ['location of the agenda', {}, { timeZone: 'America/New_York' }, {}, '14:00'],
    ['profile', {}, {}, {}, '08:00'],
    ['agenda, unknown', { timeZone: 'Nowhere' }, {}, {}, 'unknown-zone'],
    ['location, unknown', {}, { timeZone: 'Nowhere' }, {}, 'unknown-zone'],
  ])('is read in the zone of the %s', async (_, agenda, location, row, expected) => {
    const clinic = await clinicWith({
      agendas: [{ id: 'g', name: 'G', locationId: 'l', ...agenda }],
      locations: [{ id: 'l', name: 'L', ...location }],
      rows: [{ ...LOCAL, ...row }],
    });
    await using _server = clinic.server;
    expect(await clinic.read()).toEqual([expected]);
    const alone = await clinic.source.readAppointment('a', unhurried());
    expect('absent' in alone ? 'absent' : startIn('found' in alone ? { record: alone.found } : alone)).toBe(expected);
  });

  it('has the window asked for in every zone that it may be meant in', async () => {
    const agendas = [{ id: 'g', name: 'G', timeZone: 'Asia/Tokyo' }];
    const clinic = await clinicWith({ agendas }, { appointments: { window: { format: 'local', maxDays: null } } });
    await using server = clinic.server;
    await clinic.read();
    const asked = server.requests.flatMap(({ url }) =>
      url.includes('/appointments') ? [new URL(url, 'http://x')] : [],
    );
    expect(asked.at(-1)?.searchParams.get('to')).toBe('2026-12-31T09:00:00');
  });

  it('is written in the zone of its place', async () => {
    const agendas = [{ id: 'g', name: 'G', timeZone: 'Asia/Tokyo' }];
    const clinic = await clinicWith({ agendas }, { writes: { times: 'local' } });
    await using _server = clinic.server;
    const bodies: unknown[] = [];
    clinic.context.beforeWrite = ({ body }) => void bodies.push(body);
    const { update, list } = createAppointmentCalls(clinic.context);
    const start = Date.parse('2026-12-01T01:00:00Z');
    await update('t', 'a', { start }, unhurried());
    expect(bodies).toMatchObject([{ start: '2026-12-01T10:00:00' }]);
    const pages = await Array.fromAsync(list('t', [], unhurried()));
    expect(pages.flatMap(({ records }) => records.map((record) => record.start))).toEqual([
      Date.parse('2026-12-01T00:00:00Z'),
    ]);
  });

  it('is written in the zone of its place where date and time of day come apart, whatever the form of whole times', async () => {
    const agendas = [{ id: 'g', name: 'G', timeZone: 'Asia/Tokyo' }];
    const rows = [{ id: 'a', agendaId: 'g', day: '2026-12-01', from: '09:00', to: '09:30' }];
    const fields = { start: ['day + from'], end: ['day + to'] };
    const clinic = await clinicWith({ agendas, rows }, { appointments: { fields }, writes: { times: 'offset' } });
    await using _server = clinic.server;
    const bodies: unknown[] = [];
    clinic.context.beforeWrite = ({ body }) => void bodies.push(body);
    const { update } = createAppointmentCalls(clinic.context);
    const [start, end] = [Date.parse('2026-12-01T01:00:00Z'), Date.parse('2026-12-01T01:30:00Z')];
    await update('t', 'a', { start, end }, unhurried());
    expect(bodies).toMatchObject([{ day: '2026-12-01', from: '10:00:00', to: '10:30:00' }]);
  });

  it('is written in the zone of an agenda whose id is a number above 2^53', async () => {
    const id = '9007199254740993';
    const agendas = [{ id, name: 'G', timeZone: 'Asia/Tokyo' }];
    const clinic = await clinicWith(
      { agendas },
      { writes: { times: 'local' }, appointments: { numbers: ['agendaId'] } },
    );
    await using _server = clinic.server;
    const bodies: unknown[] = [];
    clinic.context.beforeWrite = ({ body }) => void bodies.push(JSON.stringify(body));
    const { update } = createAppointmentCalls(clinic.context);
    await update('t', 'a', { agendaId: id, start: Date.parse('2026-12-01T01:00:00Z') }, unhurried());
    expect(bodies).toEqual([expect.stringContaining('"start":"2026-12-01T10:00:00"')]);
    expect(bodies).toEqual([expect.stringContaining(`"agendaId":${id}`)]);
  });

  it('costs no look at places where times carry offsets', async () => {
    const rows = [{ ...LOCAL, start: '2026-12-01T09:00:00Z', end: '2026-12-01T09:30:00Z' }];
    const clinic = await clinicWith({ rows });
    await using server = clinic.server;
    expect(await clinic.read()).toEqual(['09:00']);
    expect(server.requests.filter(({ url }) => /agendas|locations/.test(url))).toEqual([]);
  });
});
