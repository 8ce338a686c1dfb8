import { describe, expect, test } from 'vitest';
import type { BookedAppointment } from '../../../src/clinic/read/appointment-rows.ts';
import type { ListPage } from '../../../src/clinic/read/lists.ts';
import { listCalls } from '../../../src/clinic/read/reading.ts';
import { createZone } from '../../../src/clinic/read/timestamps.ts';
import type { Lookup } from '../../../src/core/model/snapshots.ts';
import { NOW } from '../../sandbox/clinic/support.ts';
import { all } from '../open-api.ts';
import { committedProfile } from '../open-client.ts';
import { bytesOf, cents, signal, type World } from './world.ts';

const DAY_MS = 86_400_000;
type Row = Record<string, unknown>;
type Listed = 'locations' | 'agendas' | 'treatments' | 'patients' | 'priceLists' | Billed;
type Billed = 'episodes' | 'medicalReports' | 'invoices' | 'sections' | 'issuers';

/** A resource: its list, the expected client record of a raw row in documented words, and the comparable form of the client's record. */
interface ReadCase {
  list: Listed;
  path: string;
  expected(raw: Row): unknown;
  told(record: Row): unknown;
}

const READ_CASES: ReadCase[] = [
  {
    list: 'locations',
    path: '/locations',
    expected: ({ name, code, timeZone, address }) => [name, code, timeZone, (address as Row).postalCode],
    told: ({ name, code, zone, postalCode }) => [name, code, zone, postalCode],
  },
  {
    list: 'agendas',
    path: '/agendas',
    expected: ({ name, type, slotMinutes, isActive }) => [name, type, slotMinutes, isActive],
    told: ({ name, type, slotMinutes, isActive }) => [name, type, slotMinutes, isActive],
  },
  {
    list: 'treatments',
    path: '/treatments',
    expected: ({ code, name, durationMinutes, type, vatRate, vatExemptionCode }) => [
      code,
      name,
      durationMinutes,
      type,
      cents(vatRate),
      vatExemptionCode,
    ],
    told: ({ code, name, durationMinutes, type, vatRate, vatExemptionCode }) => [
      code,
      name,
      durationMinutes,
      type,
      cents(vatRate),
      vatExemptionCode,
    ],
  },
  {
    list: 'patients',
    path: '/patients',
    expected: ({ lastName, birthDate, taxCode, gender, address, mobilePhone }) => [
      lastName,
      birthDate,
      taxCode,
      gender,
      (address as Row | null)?.city ?? null,
      mobilePhone,
    ],
    told: ({ lastName, birthDate, taxCode, gender, city, mobilePhone }) => [
      lastName,
      birthDate,
      taxCode,
      gender,
      city,
      mobilePhone,
    ],
  },
  {
    list: 'priceLists',
    path: '/pricelists',
    expected: ({ code, validFrom, validTo, isDefault, prices }) => [
      code,
      validFrom,
      validTo,
      isDefault,
      (prices as Row[]).map(({ price }) => cents(price)),
    ],
    told: ({ code, validFrom, validTo, isDefault, prices }) => [
      code,
      validFrom,
      validTo,
      isDefault,
      (prices as Row[]).map(({ price }) => cents(price)),
    ],
  },
  {
    list: 'episodes',
    path: '/episodes',
    expected: ({ title, status, openedAt, closedAt, practices }) => [
      title,
      status,
      Date.parse(String(openedAt)),
      closedAt === null ? null : Date.parse(String(closedAt)),
      practicesOf(practices),
    ],
    told: ({ title, status, openedAt, closedAt, practices }) => [
      title,
      status,
      openedAt,
      closedAt,
      practicesOf(practices),
    ],
  },
  {
    list: 'medicalReports',
    path: '/medicalreports',
    expected: ({ reportDate, status, type, contentType, title }) => [
      reportDate,
      status,
      String(type).toLowerCase(),
      contentType,
      title,
    ],
    told: ({ reportDate, status, type, contentType, title }) => [
      reportDate,
      status,
      String(type).toLowerCase(),
      contentType,
      title,
    ],
  },
  {
    list: 'invoices',
    path: '/invoices',
    expected: ({ number, issueDate, documentType, status, totalAmount, Items, customer }) => [
      number,
      issueDate,
      documentType,
      status,
      cents(totalAmount),
      (customer as Row).name,
      linesOf(Items, 'LinkedPractices'),
    ],
    told: ({ number, issueDate, documentType, status, totalAmount, items, customer }) => [
      number,
      issueDate,
      documentType,
      status,
      cents(totalAmount),
      (customer as Row).name,
      linesOf(items, 'linkedPractices'),
    ],
  },
  {
    list: 'sections',
    path: '/accounting/sections',
    expected: ({ code, year, lastNumber, nextNumber, lastDate }) => [code, year, lastNumber, nextNumber, lastDate],
    told: ({ code, year, lastNumber, nextNumber, lastDate }) => [code, year, lastNumber, nextNumber, lastDate],
  },
  {
    list: 'issuers',
    path: '/accounting/issuers',
    expected: ({ businessName, vatNumber, taxRegime, isDefault }) => [businessName, vatNumber, taxRegime, isDefault],
    told: ({ businessName, vatNumber, taxRegime, isDefault }) => [businessName, vatNumber, taxRegime, isDefault],
  },
];

function practicesOf(practices: unknown): unknown {
  return (practices as Row[]).map(({ description, price, doctors }) => [
    description,
    cents(price),
    (doctors as Row[]).map(({ lastName, share }) => [lastName, cents(share)]),
  ]);
}

function linesOf(items: unknown, links: string): unknown {
  return (items as Row[]).map((item) => [
    item.description,
    cents(item.unitPrice),
    item.vatExemptionCode,
    ((item[links] ?? []) as Row[]).length,
  ]);
}

/** Sorts by content only. */
function sorted(rows: unknown[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

/** Reads with equal results in every dialect. */
export function describeReading(world: World): void {
  describe('reads', () => {
    test.each(READ_CASES)('every record of $list unchanged', async ({ list, path, expected, told }) => {
      const { api, tenantId } = world;
      const pages: AsyncIterable<ListPage<object>> = api[list].list(tenantId, [], signal);
      const records = (await all(pages)) as Row[];
      expect(records.length).toBeGreaterThan(1);
      expect(sorted(records.map(told))).toEqual(sorted((await world.truth(path)).map(expected)));
      expect(records.every(({ id }) => typeof id === 'string')).toBe(true);
      if (list === 'sections') return;
      const read: (tenantId: string, id: string, signal: AbortSignal) => Promise<Lookup<object>> = api[list].read;
      const { id } = records[1] as { id: string };
      expect(await read(tenantId, id, signal)).toEqual({ found: records[1] });
      expect(await read(tenantId, '9/9', signal)).toEqual({ absent: true });
    });

    test('who is connected and what the tenant is', async () => {
      const { api, tenantId, sandbox } = world;
      expect(await api.userInfo.read(signal)).toMatchObject({
        tenants: [{ id: tenantId, name: sandbox.tenants[0]?.name }],
      });
      const info = await api.tenantInfo.read(tenantId, signal);
      expect(info).toMatchObject({ name: sandbox.tenants[0]?.name, zone: 'Europe/Rome', currency: 'EUR' });
      expect(info.address?.postalCode).toMatch(/^\d{5}$/);
    });

    test('the appointments of a window, whatever their status is called', async () => {
      const { api, tenantId, dialect } = world;
      const { appointments, zone } = committedProfile(dialect);
      const window = { fromAt: NOW - 40 * DAY_MS, toAt: NOW + 100 * DAY_MS };
      const found = new Map<string, BookedAppointment>();
      for (const parameters of listCalls(appointments, createZone(zone), window, null)) {
        for (const record of await all(api.appointments.list(tenantId, parameters, signal)))
          found.set(record.id, record);
      }
      const records = [...found.values()];
      const raw = await world.truth('/appointments');
      const shown = raw.filter(({ status }) => dialect !== 'hostile' || status !== 'Cancelled');
      const starts = (rows: { start: unknown }[]) => sorted(rows.map(({ start }) => start));
      expect(starts(records)).toEqual(starts(shown.map(({ start, allDay }) => ({ start: instantOf(start, allDay) }))));
      const count = (status: string) => records.filter((record) => record.status === status).length;
      const truly = (status: string) => shown.filter((row) => row.status === status).length;
      expect(count('completed')).toBe(truly('Completed'));
      expect(count('no_show')).toBe(truly('NoShow'));
      expect(count('cancelled')).toBe(truly('Cancelled'));
      expect(count('booked') + count('unknown')).toBe(truly('Booked'));
      expect(count('unknown') > 0).toBe(dialect === 'hostile');
    });

    test('free slots in both forms, and only the requested ones', async () => {
      const { api, tenantId } = world;
      const window = { fromAt: NOW, toAt: NOW + 5 * DAY_MS };
      const slots = await all(api.availabilities.list(tenantId, { window }, signal));
      expect(slots.length).toBeGreaterThan(60);
      expect(new Set(slots.map(({ agendaId, startAt }) => `${agendaId} ${startAt}`)).size).toBe(slots.length);
      const agendaId = slots[0]?.agendaId ?? '';
      const some = await all(api.availabilities.list(tenantId, { window, agendaIds: [agendaId] }, signal));
      expect(some).toEqual(slots.filter((slot) => slot.agendaId === agendaId));

      const [treatment] = await all(api.treatments.list(tenantId, [], signal));
      const [priceList] = await all(api.priceLists.list(tenantId, [], signal));
      const offer = { treatmentId: treatment?.id ?? '', priceListId: priceList?.id ?? '' };
      const offered = await all(api.availabilities.listOfTreatment(tenantId, offer, { window }, signal));
      const price = priceList?.prices.find(({ treatmentId }) => treatmentId === treatment?.id)?.price;
      expect(cents(offered[0]?.price)).toBe(cents(price));
      expect(offered[0]).toMatchObject({ ...offer, durationMinutes: treatment?.durationMinutes, currency: 'EUR' });
      expect(offered.every(({ startAt }) => startAt >= window.fromAt && startAt < window.toAt)).toBe(true);
    });

    test('a price list by its code, whatever characters the code has', async () => {
      const { api, tenantId } = world;
      const found = await api.priceLists.read(tenantId, 'CONV/A 10%', signal);
      expect(found).toMatchObject({ found: { code: 'CONV/A 10%', name: 'Convenzione A' } });
      expect(await api.priceLists.read(tenantId, 'NONE', signal)).toEqual({ absent: true });
    });

    test('the PDFs of reports and invoices', async () => {
      const { api, tenantId } = world;
      const [report] = await all(api.medicalReports.list(tenantId, [], signal));
      const pdf = await api.medicalReports.pdf(tenantId, report?.id ?? '', signal);
      expect(pdf?.sizeBytes).toBe(report?.fileSizeBytes);
      expect(await bytesOf(pdf?.chunks ?? ([] as never))).toHaveLength(report?.fileSizeBytes ?? -1);
      const [invoice] = await all(api.invoices.list(tenantId, [], signal));
      const bill = await api.invoices.pdf(tenantId, invoice?.id ?? '', signal);
      expect((await bytesOf(bill?.chunks ?? ([] as never))).toString('latin1')).toMatch(/^%PDF-/);
      expect(await api.invoices.pdf(tenantId, 'none', signal)).toBeNull();
    });
  });

  test('finds the doctors of every invoice line, and says which links lead nowhere', async () => {
    const { api, tenantId } = world;
    const invoices = await all(api.invoices.list(tenantId, [], signal));
    const resolved = [];
    for (const invoice of invoices) resolved.push(await api.invoices.resolve(tenantId, invoice, signal));
    const links = resolved.flatMap(({ lines }) => lines.flatMap((line) => line.links));
    const faults = new Set(links.map(({ fault }) => fault));
    expect(faults).toEqual(new Set([null, 'episode-gone', 'practice-unknown']));
    expect(resolved.some(({ doctors }) => doctors.length > 1)).toBe(true);
    expect(resolved.some(({ lines }) => lines.some((line) => line.links.length > 1))).toBe(true);
    expect(resolved.some(({ lines }) => lines.every((line) => line.links.length === 0))).toBe(true);
    for (const { practice, doctors, practiceId } of links.filter(({ fault }) => fault === null)) {
      expect(practice?.practiceId).toBe(practiceId);
      expect(doctors).toEqual(practice?.doctors);
    }
  });
}

function instantOf(text: unknown, allDay: unknown): number {
  return Date.parse(
    allDay === true ? `${text}T00:00:00${String(text) <= '2026-03-29' ? '+01:00' : '+02:00'}` : String(text),
  );
}
