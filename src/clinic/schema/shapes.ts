import { field, type Shape } from './fields.ts';

const { id, text, word, choice, flag, whole, decimal, date, instant, needed, first, record, list } = field;

/** Times of a record's creation and last change. */
const changes = { createdAt: instant('createdAt'), updatedAt: instant('updatedAt') } satisfies Shape;

/** A postal address. */
const address = {
  street: text('street'),
  city: text('city'),
  province: text('province'),
  postalCode: text('postalCode'),
  country: text('country'),
} satisfies Shape;

/** A site of the clinic. */
export const location = {
  id: needed(id('id')),
  name: needed(text('name')),
  code: id('code'),
  street: text('address.street'),
  postalCode: text('address.postalCode'),
  city: text('address.city'),
  province: text('address.province'),
  country: text('address.country'),
  phone: text('phone'),
  email: text('email'),
  zone: text('timeZone'),
  isActive: flag('isActive'),
} satisfies Shape;

/** A calendar of a doctor, a resource or a workstation. */
export const agenda = {
  id: needed(id('id')),
  name: needed(text('name')),
  type: choice(['Doctor', 'Resource', 'Workstation'], 'type'),
  doctorId: id('doctor.id'),
  locationId: id('locationId'),
  zone: text('timeZone'),
  slotMinutes: whole('slotMinutes'),
  isBookableOnline: flag('isBookableOnline'),
  isActive: flag('isActive'),
} satisfies Shape;

/** A service or product of the catalogue. */
export const treatment = {
  id: needed(id('id')),
  code: id('code'),
  name: needed(text('name')),
  description: text('description'),
  category: text('category'),
  durationMinutes: whole('durationMinutes'),
  type: choice(['Service', 'Product'], 'type'),
  isBookableOnline: flag('isBookableOnline'),
  isActive: flag('isActive'),
  vatRate: decimal('vatRate'),
  vatExemptionCode: word('vatExemptionCode'),
  updatedAt: instant('updatedAt'),
} satisfies Shape;

/** General facts of a tenant. */
export const tenantInfo = {
  id: id('tenantId', 'id'),
  name: text('businessName', 'name'),
  vatNumber: id('vatNumber'),
  taxCode: id('taxCode'),
  phone: text('phone'),
  email: text('email'),
  certifiedEmail: text('certifiedEmail'),
  website: text('website'),
  zone: text('timeZone'),
  currency: word('currency'),
  address: record(address, 'address'),
} satisfies Shape;

/** A bookable slot; without an id, it is identified by agenda and start. */
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

/** A patient: patient data, never logged. */
export const patient = {
  id: needed(id('id')),
  firstName: text('firstName'),
  lastName: text('lastName'),
  taxCode: id('taxCode'),
  birthDate: date('birthDate'),
  birthPlace: text('birthPlace'),
  gender: choice(['M', 'F', 'Other', 'Unknown'], 'gender'),
  email: text('email'),
  phone: text('phone'),
  mobilePhone: text('mobilePhone'),
  language: text('language'),
  street: text('address.street'),
  postalCode: text('address.postalCode'),
  city: text('address.city'),
  province: text('address.province'),
  country: text('address.country'),
  vatNumber: id('vatNumber'),
  notes: text('notes'),
  externalId: id('externalId'),
  isActive: flag('isActive'),
  ...changes,
} satisfies Shape;

/** An appointment in the API's form. The daemon's form, with whole days and status words, is in `appointment-rows.ts`. */
export const appointment = {
  id: needed(id('id')),
  agendaId: needed(first(id('agendaId'))),
  locationId: id('locationId'),
  patientId: first(id('patientId', 'patient.id')),
  patientFirstName: text('patient.firstName'),
  patientLastName: text('patient.lastName'),
  doctorId: id('doctorId'),
  treatmentId: id('treatmentId'),
  priceListId: id('priceListId'),
  start: needed(instant('start')),
  end: instant('end'),
  duration: decimal('durationMinutes'),
  allDay: flag('allDay'),
  zone: text('timeZone'),
  status: word('status'),
  statusReason: text('statusReason'),
  confirmedAt: instant('confirmedAt'),
  checkedInAt: instant('checkedInAt'),
  cancelledAt: instant('cancelledAt'),
  isPaid: flag('isPaid'),
  paymentAmount: decimal('payment.amount'),
  paymentCurrency: word('payment.currency'),
  paymentMethod: word('payment.method'),
  paidAt: instant('payment.paidAt'),
  paymentReference: text('payment.reference'),
  notes: text('notes'),
  source: choice(['FrontDesk', 'Online', 'Api'], 'source'),
  externalId: id('externalId'),
  episodeId: id('episodeId'),
  ...changes,
} satisfies Shape;

/** Body of a status operation. `status` is the clinic's own word. */
export const statusChange = { status: needed(word('status')), reason: text('reason') } satisfies Shape;

/** Body of a payment operation. */
export const payment = {
  amount: needed(decimal('amount')),
  currency: needed(word('currency')),
  method: needed(word('method')),
  paidAt: instant('paidAt'),
  reference: text('reference'),
} satisfies Shape;

/** A doctor who took part in a practice. */
const doctor = {
  id: needed(id('id')),
  firstName: text('firstName'),
  lastName: text('lastName'),
  taxCode: id('taxCode'),
  role: word('role'),
  share: decimal('share'),
} satisfies Shape;

/** A line of an episode: one service, delivered by any number of doctors, or none. */
const practice = {
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
  status: choice(['Open', 'InProgress', 'Closed', 'Cancelled'], 'status'),
  locationId: id('locationId'),
  appointmentId: id('appointmentId'),
  practices: list(practice, 'practices'),
  ...changes,
} satisfies Shape;

/** A clinical document; its PDF is fetched separately. */
export const medicalReport = {
  id: needed(id('id')),
  patientId: id('patientId'),
  episodeId: id('episodeId'),
  practiceId: id('practiceId'),
  doctorId: id('doctorId'),
  title: text('title'),
  type: word('type'),
  reportDate: date('reportDate'),
  status: choice(['Draft', 'Final', 'Signed', 'Replaced'], 'status'),
  fileName: text('fileName'),
  fileSizeBytes: whole('fileSize'),
  contentType: word('contentType'),
  sha256: id('sha256'),
  ...changes,
} satisfies Shape;

/** Prices of treatments for a period. */
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

/** Origin of an invoice line; both names are from the specification (section 2.2). */
const linkedPractice = { episodeId: id('episodeId'), practiceId: id('practiceId') } satisfies Shape;

/** A line of an invoice. */
const invoiceItem = {
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

/** A reimbursement of an invoice. */
export const reimbursement = {
  id: id('id'),
  amount: decimal('amount'),
  date: date('date'),
  payer: text('payer'),
  method: word('method'),
  reference: text('reference'),
  notes: text('notes'),
} satisfies Shape;

/** A billing document. Codes of VAT exemption (section 2.4) are kept unchanged, including unknown codes. */
export const invoice = {
  id: needed(id('id')),
  number: id('number'),
  sectionId: id('sectionId'),
  issuerId: id('issuerId'),
  documentType: choice(['Invoice', 'CreditNote', 'Receipt'], 'documentType'),
  issueDate: date('issueDate'),
  dueDate: date('dueDate'),
  patientId: id('patientId'),
  customer: record(
    { name: text('name'), taxCode: id('taxCode'), vatNumber: id('vatNumber'), address: record(address, 'address') },
    'customer',
  ),
  status: choice(['Draft', 'Issued', 'PartiallyPaid', 'Paid', 'Cancelled'], 'status'),
  currency: word('currency'),
  netAmount: decimal('netAmount'),
  vatAmount: decimal('vatAmount'),
  stampDuty: decimal('stampDuty'),
  withholdingTax: decimal('withholdingTax'),
  totalAmount: decimal('totalAmount'),
  paidAmount: decimal('paidAmount'),
  reimbursedAmount: decimal('reimbursedAmount'),
  items: list(invoiceItem, 'Items', 'items'),
  payments: list({ amount: decimal('amount'), method: word('method'), paidAt: instant('paidAt') }, 'payments'),
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

/** Issuer of invoices. */
export const issuer = {
  id: needed(id('id')),
  businessName: text('businessName'),
  vatNumber: id('vatNumber'),
  taxCode: id('taxCode'),
  address: record(address, 'address'),
  taxRegime: word('taxRegime'),
  isDefault: flag('isDefault'),
} satisfies Shape;
