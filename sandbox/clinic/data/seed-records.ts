import { createHash } from 'node:crypto';
import { createAppointmentStore } from './appointments.ts';
import {
  cents,
  type Invoice,
  type InvoiceItem,
  type Issuer,
  itemAmounts,
  type LinkedPractice,
  type PriceList,
  type Section,
  totalsOf,
  UNLISTED_VAT_CODE,
  VAT_EXEMPTION_CODES,
} from './billing-records.ts';
import type { Episode, MedicalReport, Practice } from './care-records.ts';
import { createDocumentStore } from './documents.ts';
import { createPatientStore } from './patients.ts';
import { simplePdf } from './pdf.ts';
import { createRandom, type Random } from './random.ts';
import type { Agenda, Appointment, Patient, Tenant } from './records.ts';
import type { SeedInput } from './seed.ts';
import { addDays } from './zone.ts';

/** Limit of visits for which a generated clinic has episodes and invoices. */
const MOST_EPISODES = 60;

/** Every so many visits have a report. */
const REPORT_EVERY = 3;

/** How the first line of the n-th invoice is linked to practices; then again from the first. */
const LINK_CASES: readonly ((own: LinkedPractice[], gone: LinkedPractice) => LinkedPractice[] | null | undefined)[] = [
  (own) => own.slice(0, 1),
  (own) => own,
  () => undefined,
  () => null,
  () => [],
  (own) => [...own.slice(0, 1), ...own.slice(0, 1)],
  (_own, gone) => [gone],
  (own, gone) => own.slice(0, 1).map(({ episodeId }) => ({ episodeId, practiceId: gone.practiceId })),
];

interface Billing {
  sections: Section[];
  defaultPrices: PriceList;
}

/**
 * Generates a clinic's price lists, accounting, episodes, reports and invoices from its completed visits. A separate random generator
 * leaves the agendas, patients and appointments of a seed unchanged.
 */
export function seedRecords(input: SeedInput, tenant: Tenant): void {
  const random = createRandom(input.seed + 500_009);
  const billing = seedBilling(input, tenant, random);
  const visits = createAppointmentStore(input.database).visitsFrom(tenant.id, ['Completed'], 0, MOST_EPISODES);
  const invoiced: { visit: Appointment; episode: Episode }[] = [];
  for (const [index, visit] of visits.entries()) {
    const episode = seedEpisode(input, tenant, visit, index, random);
    if (index % REPORT_EVERY === 0) seedReport(input, tenant, visit, episode, random);
    invoiced.push({ visit, episode });
  }
  for (const [index, { visit, episode }] of invoiced.entries()) {
    seedInvoice(input, tenant, billing, { visit, episode, index });
  }
  const sections = createDocumentStore<Section>(input.database, 'section');
  for (const [index, record] of billing.sections.entries()) sections.save(entry(input, tenant, record, index));
}

function entry<T>(input: SeedInput, tenant: Tenant, record: T, sortAt: number, at = input.now - 40 * 86_400_000) {
  return { tenantId: tenant.id, record, sortAt, createdAt: at, updatedAt: at };
}

function seedBilling(input: SeedInput, tenant: Tenant, random: Random): Billing {
  const { database, ids, zone, now } = input;
  const year = Number(zone.formatDate(now).slice(0, 4));
  const priceLists = priceListsOf(input, tenant, year, random);
  const issuers: Issuer[] = ['', ' - Libera professione'].map((suffix, index) => ({
    id: ids.next('iss'),
    businessName: tenant.name + suffix,
    vatNumber: index === 0 ? tenant.info.vatNumber : String(random.integer(10_000_000_000, 19_999_999_999)),
    taxCode: tenant.info.taxCode,
    address: tenant.info.address,
    taxRegime: index === 0 ? 'RF01' : 'RF19',
    isDefault: index === 0,
  }));
  const priceListStore = createDocumentStore<PriceList>(database, 'priceList');
  for (const [index, record] of priceLists.entries()) priceListStore.save(entry(input, tenant, record, index));
  const issuerStore = createDocumentStore<Issuer>(database, 'issuer');
  for (const [index, record] of issuers.entries()) issuerStore.save(entry(input, tenant, record, index));
  const sections = (['A', 'B', 'LP'] as const).map((code, index): Section => {
    const issuerId = issuers[index === 2 ? 1 : 0]?.id ?? '';
    const numbers = { lastNumber: 0, lastDate: null, nextNumber: 1 };
    const id = ids.next('sec');
    return {
      id,
      code,
      name: `Sezionale ${code}`,
      issuerId,
      year,
      ...numbers,
      isElectronic: index !== 1,
      isActive: true,
    };
  });
  const [defaultPrices] = priceLists;
  if (defaultPrices === undefined) throw new RangeError('a clinic needs a price list');
  return { sections, defaultPrices };
}

/** One that holds today, one with a code that needs escaping, one that is over. */
function priceListsOf({ ids }: SeedInput, tenant: Tenant, year: number, random: Random): PriceList[] {
  const base = tenant.treatments.map(({ id, vatRate, vatExemptionCode }) => {
    return { treatmentId: id, price: random.integer(4, 24) * 5 + 0.5, vatRate, vatExemptionCode };
  });
  const plans = [
    { code: 'BASE', name: 'Listino base', factor: 1, validFrom: `${year}-01-01`, validTo: null },
    { code: 'CONV/A 10%', name: 'Convenzione A', factor: 0.9, validFrom: `${year}-01-01`, validTo: `${year}-12-31` },
    { code: 'OLD', name: 'Listino scaduto', factor: 0.8, validFrom: `${year - 2}-01-01`, validTo: `${year - 1}-12-31` },
  ];
  return plans.map(({ factor, ...plan }, index) => ({
    id: ids.next('prl'),
    ...plan,
    isDefault: index === 0,
    isActive: index !== 2,
    currency: 'EUR',
    prices: base.map((price) => ({ ...price, price: cents(price.price * factor) })),
  }));
}

function seedEpisode(input: SeedInput, tenant: Tenant, visit: Appointment, index: number, random: Random): Episode {
  const { ids, zone } = input;
  const agenda = tenant.agendas.find(({ id }) => id === visit.agendaId);
  // Every tenth episode has no practice; every third has two of one treatment; doctors go from none to three.
  const practiceCount = index % 10 === 9 ? 0 : index % 3 === 1 ? 2 : 1;
  const treatment = tenant.treatments.find(({ id }) => id === visit.treatmentId);
  const practices = Array.from(
    { length: practiceCount },
    (_, line): Practice => ({
      practiceId: ids.next('prc'),
      treatmentId: treatment?.id ?? '',
      description: treatment?.name ?? 'Visita',
      quantity: 1,
      price: random.integer(4, 24) * 5,
      executedAt: zone.formatInstant(visit.startAt),
      status: 'Completed',
      doctors: doctorsOf(tenant, agenda, (index + line) % 4),
    }),
  );
  const isClosed = index % 2 === 0;
  const record: Episode = {
    id: ids.next('epi'),
    patientId: visit.patientId ?? '',
    title: treatment?.name ?? null,
    openedAt: zone.formatInstant(visit.startAt),
    closedAt: isClosed ? zone.formatInstant(visit.endAt) : null,
    status: isClosed ? 'Closed' : 'InProgress',
    locationId: agenda?.locationId ?? null,
    appointmentId: visit.id,
    practices,
  };
  const store = createDocumentStore<Episode>(input.database, 'episode');
  store.save(entry(input, tenant, record, visit.startAt, visit.endAt));
  return record;
}

/** The agenda's doctor first, then others of the clinic. */
function doctorsOf(tenant: Tenant, agenda: Agenda | undefined, count: number): Practice['doctors'] {
  const all = tenant.agendas.map(({ doctor }) => doctor).filter((doctor) => doctor !== null);
  const first = all.filter(({ id }) => id === agenda?.doctor?.id);
  const others = all.filter(({ id }) => id !== agenda?.doctor?.id);
  const chosen = [...first, ...others].slice(0, count);
  return chosen.map((doctor, index) => ({
    ...doctor,
    taxCode: null,
    role: index === 0 ? 'Principal' : 'Assistant',
    share: cents(100 / chosen.length),
  }));
}

function seedReport(input: SeedInput, tenant: Tenant, visit: Appointment, episode: Episode, random: Random): void {
  const id = input.ids.next('rep');
  const pdf = reportPdf(id);
  const practice = episode.practices[0];
  const record: MedicalReport = {
    id,
    patientId: episode.patientId,
    episodeId: episode.id,
    practiceId: practice?.practiceId ?? null,
    doctorId: practice?.doctors[0]?.id ?? null,
    title: `Referto: ${episode.title ?? 'visita'}`,
    type: 'Referto',
    reportDate: input.zone.formatDate(visit.endAt),
    status: random.pick(['Final', 'Signed'] as const),
    fileName: `referto-${id}.pdf`,
    fileSize: pdf.length,
    contentType: 'application/pdf',
    sha256: createHash('sha256').update(pdf).digest('hex'),
    fileId: null,
  };
  const store = createDocumentStore<MedicalReport>(input.database, 'medicalReport');
  store.save(entry(input, tenant, record, input.zone.startOfDay(record.reportDate), visit.endAt));
}

/** Returns the PDF of a generated report. */
export function reportPdf(id: string): Buffer {
  return simplePdf(['Referto', id, 'Documento inventato per prova']);
}

function seedInvoice(
  input: SeedInput,
  tenant: Tenant,
  { sections, defaultPrices }: Billing,
  { visit, episode, index }: { visit: Appointment; episode: Episode; index: number },
): void {
  const { zone, ids, database } = input;
  const section = sections[index % sections.length];
  const patient = createPatientStore(database).get(tenant.id, visit.patientId ?? '');
  if (section === undefined || patient === undefined) return;
  const issueDate = zone.formatDate(visit.endAt);
  section.lastNumber += 1;
  section.nextNumber = section.lastNumber + 1;
  section.lastDate = issueDate;
  const items = itemsOf(input, episode, defaultPrices, index);
  const totals = totalsOf(items);
  const status = index % 5 === 4 ? 'Issued' : index % 7 === 6 ? 'PartiallyPaid' : 'Paid';
  const paidAmount = status === 'Paid' ? totals.totalAmount : status === 'Issued' ? 0 : cents(totals.totalAmount / 2);
  const record: Invoice = {
    id: ids.next('inv'),
    number: `${section.lastNumber}/${section.code}`,
    sectionId: section.id,
    issuerId: section.issuerId,
    documentType: 'Invoice',
    issueDate,
    dueDate: addDays(issueDate, 30),
    patientId: patient.id,
    customer: customerOf(patient),
    status,
    currency: 'EUR',
    ...totals,
    withholdingTax: 0,
    paidAmount,
    reimbursedAmount: 0,
    Items: items,
    payments: paidAmount > 0 ? [{ amount: paidAmount, method: 'Card', paidAt: zone.formatInstant(visit.endAt) }] : [],
    reimbursements: [],
  };
  const store = createDocumentStore<Invoice>(database, 'invoice');
  store.save(entry(input, tenant, record, zone.startOfDay(issueDate), visit.endAt));
}

/** Converts a patient to the customer of an invoice. */
export function customerOf({ firstName, lastName, details }: Patient): Invoice['customer'] {
  const { taxCode, vatNumber, address } = details;
  return { name: `${firstName} ${lastName}`, taxCode, vatNumber, address };
}

function itemsOf({ ids }: SeedInput, episode: Episode, prices: PriceList, index: number): InvoiceItem[] {
  const own = episode.practices.map(({ practiceId }) => ({ episodeId: episode.id, practiceId }));
  // Ids that nothing has: a deleted episode, an unknown practice.
  const gone = { episodeId: ids.next('epi'), practiceId: ids.next('prc') };
  const links = LINK_CASES[index % LINK_CASES.length]?.(own, gone);
  const price = prices.prices.find(({ treatmentId }) => treatmentId === episode.practices[0]?.treatmentId);
  const vatRate = price?.vatRate ?? 0;
  const exempt = index === 0 ? UNLISTED_VAT_CODE : (VAT_EXEMPTION_CODES[index % VAT_EXEMPTION_CODES.length] ?? null);
  const line = { quantity: 1, unitPrice: price?.price ?? 80, discount: 0, vatRate };
  return [
    {
      id: ids.next('itm'),
      description: episode.title ?? 'Visita',
      ...line,
      vatExemptionCode: vatRate === 0 ? exempt : null,
      ...itemAmounts(line),
      ...(links === undefined ? {} : { LinkedPractices: links }),
    },
  ];
}
