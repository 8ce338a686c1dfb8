import { changes } from './common.ts';
import { field, type Shape } from './fields.ts';

const { id, text, word, choice, flag, decimal, date, instant, needed } = field;

/** A person of the clinic's registry: patient data, never logged. */
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

/** A booking as the API has it. What the daemon makes of it, whole days and status words included, is in `appointment-rows.ts`. */
export const appointment = {
  id: needed(id('id')),
  agendaId: needed(id('agendaId')),
  locationId: id('locationId'),
  patientId: id('patientId', 'patient.id'),
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

/** What a status operation is sent. `status` is the clinic's own word. */
export const statusChange = { status: needed(word('status')), reason: text('reason') } satisfies Shape;

/** What a payment operation is sent. */
export const payment = {
  amount: needed(decimal('amount')),
  currency: needed(word('currency')),
  method: needed(word('method')),
  paidAt: instant('paidAt'),
  reference: text('reference'),
} satisfies Shape;
