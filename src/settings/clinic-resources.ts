import { z } from 'zod';
import { type Defaulted, type FieldPaths, field, fieldPaths, paths, type Shape } from './clinic-fields.ts';
import { pagingSchema, parameter } from './clinic-paging.ts';

const { id, text, word, flag, whole, decimal, date, instant, needed, record, list } = field;

const changes = { createdAt: instant('createdAt'), updatedAt: instant('updatedAt') };

const address = {
  street: text('street'),
  city: text('city'),
  province: text('province'),
  postalCode: text('postalCode'),
  country: text('country'),
} satisfies Shape;

/** A slot that can be booked; it has no id, agenda and start name it. */
export const availability = {
  agendaId: needed(id('agendaId')),
  locationId: id('locationId'),
  doctorId: id('doctorId'),
  startAt: needed(instant('start')),
  endAt: instant('end'),
  durationMinutes: whole('durationMinutes'),
  treatmentId: id('treatmentId'),
  priceListId: id('priceListId'),
  price: decimal('price'),
  currency: word('currency'),
} satisfies Shape;

/** Prices of treatments for a time. */
export const priceList = {
  id: needed(id('id')),
  code: id('code'),
  name: text('name'),
  validFrom: date('validFrom'),
  validTo: date('validTo'),
  isDefault: flag('isDefault'),
  isActive: flag('isActive'),
  currency: word('currency'),
  prices: list(
    {
      treatmentId: needed(id('treatmentId')),
      price: decimal('price'),
      vatRate: decimal('vatRate'),
      vatExemptionCode: word('vatExemptionCode'),
    },
    'prices',
  ),
} satisfies Shape;

const doctor = {
  id: needed(id('id')),
  firstName: text('firstName'),
  lastName: text('lastName'),
  taxCode: id('taxCode'),
  role: word('role'),
  share: decimal('share'),
} satisfies Shape;

/** A line of an episode: one service delivered, by no, one or several doctors. */
export const practice = {
  practiceId: needed(id('practiceId')),
  treatmentId: id('treatmentId'),
  description: text('description'),
  quantity: decimal('quantity'),
  price: decimal('price'),
  executedAt: instant('executedAt'),
  status: word('status'),
  doctors: list(doctor, 'doctors'),
} satisfies Shape;

/** A part of a patient's pathway (specification sections 2.2 and 2.3). */
export const episode = {
  id: needed(id('id')),
  patientId: id('patientId'),
  title: text('title'),
  openedAt: instant('openedAt'),
  closedAt: instant('closedAt'),
  status: word('status'),
  locationId: id('locationId'),
  appointmentId: id('appointmentId'),
  practices: list(practice, 'practices'),
  ...changes,
} satisfies Shape;

/** A clinical document; its PDF is fetched apart. */
export const medicalReport = {
  id: needed(id('id')),
  patientId: id('patientId'),
  episodeId: id('episodeId'),
  practiceId: id('practiceId'),
  doctorId: id('doctorId'),
  title: text('title'),
  type: word('type'),
  reportDate: date('reportDate'),
  status: word('status'),
  fileName: text('fileName'),
  fileSizeBytes: whole('fileSize'),
  contentType: word('contentType'),
  sha256: id('sha256'),
  ...changes,
} satisfies Shape;

/** Where an invoice line comes from; both names are the specification's (section 2.2). */
export const linkedPractice = { episodeId: id('episodeId'), practiceId: id('practiceId') } satisfies Shape;

/** A line of an invoice. */
export const invoiceItem = {
  id: id('id'),
  description: text('description'),
  quantity: decimal('quantity'),
  unitPrice: decimal('unitPrice'),
  discount: decimal('discount'),
  netAmount: decimal('netAmount'),
  vatRate: decimal('vatRate'),
  vatExemptionCode: word('vatExemptionCode'),
  vatAmount: decimal('vatAmount'),
  totalAmount: decimal('totalAmount'),
  linkedPractices: list(linkedPractice, 'LinkedPractices', 'linkedPractices'),
} satisfies Shape;

/** What somebody pays back of an invoice. */
export const reimbursement = {
  id: id('id'),
  amount: decimal('amount'),
  date: date('date'),
  payer: text('payer'),
  method: word('method'),
  reference: text('reference'),
  notes: text('notes'),
} satisfies Shape;

/** A billing document. Codes of VAT exemption (section 2.4) are kept as they come, unknown ones too. */
export const invoice = {
  id: needed(id('id')),
  number: id('number'),
  sectionId: id('sectionId'),
  issuerId: id('issuerId'),
  documentType: word('documentType'),
  issueDate: date('issueDate'),
  dueDate: date('dueDate'),
  patientId: id('patientId'),
  customer: record(
    { name: text('name'), taxCode: id('taxCode'), vatNumber: id('vatNumber'), address: record(address, 'address') },
    'customer',
  ),
  status: word('status'),
  currency: word('currency'),
  netAmount: decimal('netAmount'),
  vatAmount: decimal('vatAmount'),
  stampDuty: decimal('stampDuty'),
  withholdingTax: decimal('withholdingTax'),
  totalAmount: decimal('totalAmount'),
  paidAmount: decimal('paidAmount'),
  reimbursedAmount: decimal('reimbursedAmount'),
  items: list(invoiceItem, 'Items', 'items'),
  reimbursements: list(reimbursement, 'reimbursements'),
  ...changes,
} satisfies Shape;

/** A numbering series of invoices. */
export const section = {
  id: needed(id('id')),
  code: id('code'),
  name: text('name'),
  issuerId: id('issuerId'),
  year: whole('year'),
  lastNumber: whole('lastNumber'),
  lastDate: date('lastDate'),
  nextNumber: whole('nextNumber'),
  isElectronic: flag('isElectronic'),
  isActive: flag('isActive'),
} satisfies Shape;

/** Who issues invoices. */
export const issuer = {
  id: needed(id('id')),
  businessName: text('businessName'),
  vatNumber: id('vatNumber'),
  taxCode: id('taxCode'),
  address: record(address, 'address'),
  taxRegime: word('taxRegime'),
  isDefault: flag('isDefault'),
} satisfies Shape;

/** The resources of the clinic API that are described as data alone, by their names in a profile. */
export const RESOURCES = {
  availabilities: availability,
  priceLists: priceList,
  episodes: episode,
  medicalReports: medicalReport,
  invoices: invoice,
  sections: section,
  issuers: issuer,
} as const satisfies Record<string, Shape>;

/** Name of such a resource. */
export type ResourceName = keyof typeof RESOURCES;

/** What a profile says of one resource beside its fields. */
export const listRules = {
  query: z
    .record(parameter, z.string())
    .default({})
    .describe('Parameters sent with every list call, such as one that includes cancelled rows.'),
  paging: pagingSchema.nullable().default(null).describe('Only where this list pages otherwise than the profile says.'),
};

type ResourceProfiles = {
  [Name in ResourceName]: Defaulted<{
    fields: FieldPaths<(typeof RESOURCES)[Name]>;
    query: Record<string, string>;
    paging: z.output<typeof listRules.paging>;
  }>;
};

/** The part of the profile schema for {@link RESOURCES}. */
export const resourceProfiles = Object.fromEntries(
  Object.entries(RESOURCES).map(([name, shape]) => [
    name,
    z.strictObject({ fields: fieldPaths<Shape>(shape), ...listRules }).prefault({}),
  ]),
) as unknown as ResourceProfiles;

/** Where a field of ours is in a row, unless the profile says otherwise. */
export function at(...defaults: string[]) {
  return paths.default(defaults);
}
